"""A shard wherever it lies, as a stream. No address is run as a command, as webdataset itself would run `pipe:`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error, data_error
from argosy.steps.stage import failures
from argosy.steps.stage.failures import Keyless, Passing, StoreFailure

SCHEMES = ("s3", "gs", "az", "http", "https")
BUFFER_BYTES = 4 << 20


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@contextmanager
def opened(shard: str) -> Iterator[Readable]:
    """A shard by its path or its address; credentials and endpoints come from the environment, as for the AWS SDK.

    Raises FileNotFoundError, and StepError: TEMPORARY when an address does not answer, CONFIGURATION when it refuses,
    DATA for an address of another kind.
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
        raise _failed(shard, failures.of(error)) from None


def _failed(shard: str, failure: StoreFailure) -> StepError:
    if isinstance(failure, Passing) and not isinstance(failure, Keyless):
        return StepError(ExitCode.TEMPORARY, f"{shard}: does not answer: {failure}")
    return configuration_error(
        f"{shard}: may not be read: {failure}; give the environment's credentials the right to, or correct the address"
    )


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
