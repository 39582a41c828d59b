"""Files by the md5 of their content. Each is there once for all datasets that hold it."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from argosy.steps.cache import locks
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.workplace import Workplace

PART, JOURNAL = ".part", ".journal"
"""How the names of a large blob's beginning end, and of what its writer notes about it."""

SEALED_NS = 946_684_800_000_000_000
"""Time of change that every blob is given, 2000-01-01: one that has another was written to after it was verified."""


class Blobs:
    """The blobs of a cache. Safe to use from several threads and pods at a time."""

    def __init__(self, root: Path) -> None:
        self._layout = Layout(root)
        self._folder = str(self._layout.blobs)
        self.workplace = Workplace(self._layout.partial)

    def name(self, md5: str) -> str:
        """Its path as text, of which a dataset may need 100,000."""
        return f"{self._folder}/{md5[:2]}/{md5[2:]}"

    def path(self, md5: str) -> Path:
        return Path(self.name(md5))

    def has(self, md5: str) -> bool:
        """Whether it is there and nobody wrote to it since it was verified."""
        try:
            status = os.lstat(self.name(md5))
        except FileNotFoundError:
            return False
        return is_sealed(status)

    def missing(self, md5s: Iterable[str]) -> list[str]:
        """Those that are not there, each once, in their order."""
        return [md5 for md5 in dict.fromkeys(md5s) if not self.has(md5)]

    def size(self, md5: str) -> int:
        """Bytes. Raises FileNotFoundError."""
        return os.lstat(self.name(md5)).st_size

    def add(self, md5: str, content: bytes | bytearray | memoryview) -> None:
        """Puts content in that the caller has verified. It is on the disk once a view of it is published."""
        name = self.workplace.name()
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)
        self._take_in(md5, name)

    def adopt(self, md5: str, path: Path) -> None:
        """Takes in a file of the cache's file system, whose content the caller has verified."""
        self._take_in(md5, str(path))

    @contextmanager
    def partial(self, md5: str) -> Iterator[Path | None]:
        """A file to write a large blob to, which may hold what an earlier attempt has written; none: another writes it.

        Whoever waited for it asks first whether the blob is there by now. What is not adopted stays for a day. Where
        locks do not work, it is a new one.
        """
        for folder in (self._layout.partial, self._layout.locks):
            folder.mkdir(parents=True, exist_ok=True)
        if not locks.work(self._layout.locks):
            yield self.workplace.new()
            return
        lock = self._layout.locks / f"blob-{md5}"
        with locks.attempt(lock, create=True) as is_ours:
            try:
                yield self._layout.partial / f"{md5}{PART}" if is_ours else None
            finally:
                if is_ours:
                    lock.unlink(missing_ok=True)

    def scan(self) -> Iterator[tuple[str, os.stat_result]]:
        """Each blob's md5 and status."""
        if not self._layout.blobs.is_dir():
            return
        for folder in self._layout.blobs.glob("??"):
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):  # evicted just now
                        yield f"{folder.name}{entry.name}", entry.stat(follow_symlinks=False)

    def remove(self, md5: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.name(md5))  # noqa: PTH108 - of 100,000 blobs, paths as objects take half of the time

    def _take_in(self, md5: str, name: str) -> None:
        os.chmod(name, 0o444)  # noqa: PTH101 - as above; the umask has had its say
        os.utime(name, ns=(SEALED_NS, SEALED_NS))
        target = self.name(md5)
        try:
            os.rename(name, target)  # noqa: PTH104 - as above
        except FileNotFoundError:
            self.path(md5).parent.mkdir(parents=True, exist_ok=True)
            os.rename(name, target)  # noqa: PTH104 - as above

    def close(self) -> None:
        """Removes what was not finished, but for large blobs."""
        self.workplace.close()


def is_sealed(status: os.stat_result) -> bool:
    """Whether a file is one that nobody wrote to since it was verified."""
    return status.st_mtime_ns == SEALED_NS and stat.S_ISREG(status.st_mode)
