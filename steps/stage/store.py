"""The objects of a DVC remote: in a bucket of S3, Google or Azure, or in a folder."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from argosy.steps.errors import configuration_error
from argosy.steps.pins import FOLDER, Remote
from argosy.steps.stage import failures
from argosy.steps.stage.failures import Denied, Missing, Passing, Wrong

if TYPE_CHECKING:
    from obstore.store import ObjectStore

OBJECTS = "files/md5"
"""Where DVC keeps objects in a remote (dvc_data/hashfile/db, `files/md5` since DVC 3)."""
FOLDER_READERS = 16


class Store(Protocol):
    """Objects by their md5; that of a folder's list ends in `.dir`."""

    name: str
    """The remote, as messages name it."""
    remedy: str
    """What to do where it may not be read."""

    def place(self, md5: str) -> str:
        """Where a person finds an object. It holds no credentials."""
        ...

    async def read(self, md5: str, start: int, end: int) -> memoryview:
        """The bytes from `start` on: up to `end`, or to the object's end. Raises StoreFailure."""
        ...

    async def size(self, md5: str) -> int:
        """Bytes of an object. Raises StoreFailure."""
        ...


def opened(remote: Remote, project: Path) -> Store:
    """The objects of a remote; a project's DVC configuration may hold the keys for it.

    Raises StepError (CONFIGURATION): no such folder, no credentials, no such kind of remote.
    """
    if "://" in remote.url and not remote.url.startswith(FOLDER):
        from argosy.steps.stage import clients

        return Bucket(remote, clients.client(remote, project, OBJECTS), clients.remedy(remote))
    folder = project / remote.url.removeprefix(FOLDER)
    if not folder.is_dir():
        raise configuration_error(f"DVC remote {remote.name}: {folder} is no folder; mount it, or name another remote")
    return Folder(remote.name, folder / OBJECTS)


class Bucket:
    """Objects in a bucket."""

    def __init__(self, remote: Remote, client: "ObjectStore", remedy: str) -> None:
        import obstore

        self.remedy = remedy
        self.name = f"DVC remote {remote.name}"
        self._url = remote.url.rstrip("/")
        self._client = client
        self._read, self._head = obstore.get_range_async, obstore.head_async

    def place(self, md5: str) -> str:
        return f"{self._url}/{OBJECTS}/{md5[:2]}/{md5[2:]}"

    async def read(self, md5: str, start: int, end: int) -> memoryview:
        from obstore.exceptions import BaseError

        try:
            return memoryview(await self._read(self._client, f"{md5[:2]}/{md5[2:]}", start=start, end=end))
        except (BaseError, FileNotFoundError) as error:
            raise failures.of(error) from None

    async def size(self, md5: str) -> int:
        from obstore.exceptions import BaseError

        try:
            return (await self._head(self._client, f"{md5[:2]}/{md5[2:]}"))["size"]
        except (BaseError, FileNotFoundError) as error:
            raise failures.of(error) from None


class Folder:
    """Objects in a folder, which may be one of the network: another thread waits for it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = f"DVC remote {name}"
        self.remedy = f"give this user the right to read {folder}"
        self._folder = folder
        self._readers = ThreadPoolExecutor(FOLDER_READERS, "reader")

    def place(self, md5: str) -> str:
        return f"{self._folder}/{md5[:2]}/{md5[2:]}"

    async def read(self, md5: str, start: int, end: int) -> memoryview:
        return await asyncio.get_running_loop().run_in_executor(self._readers, _bytes, self.place(md5), start, end)

    async def size(self, md5: str) -> int:
        return await asyncio.get_running_loop().run_in_executor(self._readers, _size, self.place(md5))


def _bytes(path: str, start: int, end: int) -> memoryview:
    descriptor = _open(path)
    try:
        left = min(end, os.fstat(descriptor).st_size) - start
        if left <= 0:
            raise Wrong("is empty" if start == 0 else f"ends before byte {start}")
        content = memoryview(bytearray(left))
        count = os.preadv(descriptor, [content], start)
    except IsADirectoryError:
        raise Wrong("is a folder") from None
    except OSError as error:
        raise Passing(f"it cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if count < left:
        raise Wrong(f"ends before byte {start + left}")
    return content


def _size(path: str) -> int:
    descriptor = _open(path)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise Missing("there is no such object") from None
    except PermissionError:
        raise Denied("this user may not read it") from None
    except OSError as error:
        raise Passing(f"it cannot be read: {error.strerror}") from None
