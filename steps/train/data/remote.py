"""A shard wherever it lies, as a stream. No address is run as a command, as webdataset itself would run `pipe:`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, data_error

SCHEMES = ("s3", "gs", "az", "http", "https")
BUFFER_BYTES = 4 << 20


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@contextmanager
def opened(shard: str) -> Iterator[Readable]:
    """A shard by its path or its address; credentials and endpoints come from the environment, as for the AWS SDK.

    Raises StepError: TEMPORARY when an address does not answer, DATA for an address of another kind.
    """
    scheme, is_address, _ = shard.partition("://")
    if not is_address:
        with Path(shard).open("rb") as file:
            yield file
        return
    if scheme not in SCHEMES:
        raise data_error(f"{shard}: is no address that can be read; there are {', '.join(SCHEMES)}, and paths")
    from obstore.exceptions import BaseError

    try:
        yield _Object(shard)
    except BaseError as error:
        raise StepError(ExitCode.TEMPORARY, f"{shard}: {str(error).splitlines()[0]}") from None


class _Object:
    """An object of a store. tarfile asks for real bytes."""

    def __init__(self, address: str) -> None:
        import obstore
        from obstore.store import from_url

        folder, _, name = address.rpartition("/")
        store = from_url(folder, client_options={"allow_http": True})
        self._reader = obstore.open_reader(store, name, buffer_size=BUFFER_BYTES)

    def read(self, size: int, /) -> bytes:
        return bytes(self._reader.read(size))
