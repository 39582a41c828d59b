"""A view: the files of a run's data under their own names, as hard links to blobs.

The folder CACHE/datasets/KEY has

    version.json    what it is; its lock is the lease, its time of change is when it was used last
    index.json      each file as it was staged
    fingerprint     a hash of the status of all files: while it is the same, nothing is read
    data/           the files, read-only
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from argosy.steps import files
from argosy.steps.cache import contents, index, locks
from argosy.steps.cache.faults import Damaged, Unreadable
from argosy.steps.cache.index import Index
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.version import Version


def views(layout: Layout) -> list["View"]:
    """All views of a cache."""
    if not layout.datasets.is_dir():
        return []
    found = [View(folder) for folder in sorted(layout.datasets.iterdir())]
    return [view for view in found if view.lock.exists()]


class View:
    """A view in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.lock = self._version = folder / "version.json"
        """Whoever holds the lock on this file has the view on lease."""
        self._index = folder / "index.json"
        self._fingerprint = folder / "fingerprint"

    def version(self) -> Version:
        """Raises Unreadable."""
        try:
            return Version.model_validate_json(self._version.read_bytes())
        except (FileNotFoundError, IsADirectoryError, ValidationError):
            raise Unreadable(self._version) from None

    def index(self) -> Index:
        """Raises Unreadable."""
        try:
            return index.read(self._index)
        except (FileNotFoundError, IsADirectoryError, ValueError):
            raise Unreadable(self._index) from None

    def require_whole(self) -> None:
        """All files are as they were staged. Raises Damaged."""
        stamps = contents.stamps(self.data)
        fingerprint = contents.fingerprint(stamps)
        if self._fingerprint.exists() and self._fingerprint.read_text() == fingerprint:
            return
        staged = self.index()
        if faults := index.faults(self.data, staged, stamps):
            raise Damaged(self.data, faults)
        with suppress(OSError):  # a cache that may only be read: the next one reads these files again
            self.record(staged, stamps)

    def record(self, staged: Index, stamps: Sequence[str]) -> None:
        """Writes down that these files are whole, as their status is now."""
        with self._writable():
            index.write(self._index, index.stamped(staged, stamps))
            files.write_text(self._fingerprint, contents.fingerprint(stamps))

    def describe(self, version: Version) -> None:
        files.write_text(self._version, version.model_dump_json(indent=2) + "\n")

    @property
    def used_at(self) -> float:
        """When it was used last, in seconds since 1970. Raises FileNotFoundError."""
        return self._version.stat().st_mtime

    def mark_as_used(self) -> None:
        with suppress(OSError):  # a cache of another user, or one that may only be read
            os.utime(self._version)

    @contextmanager
    def lease(self) -> Iterator[bool]:
        """Whether the view is there; if so it is not evicted meanwhile, as long as this process lives."""
        with locks.shared(self.lock) as is_there:
            yield is_there

    @contextmanager
    def _writable(self) -> Iterator[None]:
        mode = self.folder.stat().st_mode
        self.folder.chmod(0o755)
        try:
            yield
        finally:
            self.folder.chmod(mode)
