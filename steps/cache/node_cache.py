"""The node's cache: what was staged here once is there for every run."""

import errno
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from argosy.steps.cache import boot, building, durability, eviction, hashing, locks, trash
from argosy.steps.cache.blobs import Blobs
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.faults import Fault
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.rights import FULL, require_writable
from argosy.steps.cache.space import Disk, Limit, Space
from argosy.steps.cache.version import Version
from argosy.steps.cache.view import View, views
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.files import sync_folder


class NodeCache:
    """A cache in a folder that the pods of a node share."""

    def __init__(self, root: Path, *, node_folder: str = "", limit: Limit = Limit()) -> None:  # noqa: B008 - is frozen
        """`node_folder` is what the folder is on the node, to be named in messages; empty: nothing."""
        self._layout = Layout(root)
        self._node_folder = node_folder
        self._limit = limit
        self._lock: Path | None = None
        self.blobs = Blobs(root)

    def found(self, key: str) -> Version | None:
        """The version in this view, which is then marked as used. None where there is none.

        Raises Damaged with what is not as it was staged, StepError where it cannot be read at all.
        """
        view = self._view(key)
        with view.lease() as is_there:
            return self._checked(view) if is_there else None

    @contextmanager
    def staging(self, key: str) -> Iterator[None]:
        """The one that stages this view now; waits while another does.

        Raises StepError (CONFIGURATION) when the cache cannot be written, is full, or is of another version of argosy.
        """
        layout = self._layout
        try:
            for folder in layout.folders:
                require_writable(folder, self._node_folder)
            layout.require_known()
            layout.claim()
            locks_work = locks.work(layout.locks)
            if not locks_work:
                sys.stderr.write(
                    f"{layout.root}: locks do not work there: pods may fetch the same twice; nothing is evicted\n"
                )
            boot.forget_unsynced(layout, self.blobs, locks_work=locks_work)
            trash.sweep(layout, self.blobs, locks_work=locks_work)
            self._lock = layout.staging_lock(key)
            with locks.exclusive(self._lock, "stages the same data") if locks_work else nullcontext():
                yield
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise configuration_error(
                f"{layout.root}: its disk is full: {Disk.of(layout.root).free} are free; make room there"
            ) from None
        finally:
            self._lock = None
            self.blobs.close()

    def make_room(self, bytes: int, files: int, keep: Collection[str] = ()) -> None:  # noqa: A002 - says its unit
        """Room for so many bytes and files, for which what was used least recently is evicted.

        Blobs in `keep` stay. Raises StepError (CONFIGURATION) when there cannot be that room.
        """
        eviction.make_room(self._layout, self.blobs, Space(bytes, files), self._limit, keep=keep, own=self._lock)

    def publish(self, key: str, version: Version, entries: Sequence[Entry], xxh3: Mapping[str, str]) -> Version:
        """The view of these entries, whose blobs are there; `xxh3` has hashes of blobs by their md5, where known.

        Where another has published it meanwhile, it is that one. Raises Gone with the blobs that are not there any
        more, Damaged when the view that is there already is.
        """
        view = View(self.blobs.workplace.new())
        known = self._xxh3_of({entry.md5 for entry in entries} - xxh3.keys()) | dict(xxh3)
        published = building.build(view, self.blobs, version.model_copy(update={"key": key}), entries, known)
        durability.sync(self._layout.root)
        try:
            view.folder.rename(self._view(key).folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if there := self.found(key):
                return there
            self.discard(key)  # no view
            view.folder.rename(self._view(key).folder)
        self._view(key).folder.chmod(0o555)  # only now: rename(2) needs the right to write to it
        sync_folder(self._layout.datasets)
        return published

    def discard(self, key: str) -> None:
        """The view leaves its place, whatever is there."""
        trash.remove(self._view(key).folder, self._layout)

    def lacking(self, faults: Sequence[Fault]) -> list[str]:
        """Blobs that must be fetched before these faults can be repaired; those that are damaged too are removed."""
        md5s = dict.fromkeys(fault.md5 for fault in faults if fault.md5)
        for md5 in md5s:
            if self.blobs.has(md5) and hashing.md5(self.blobs.path(md5)) != md5:
                self.blobs.remove(md5)
        return self.blobs.missing(md5s)

    def repair(self, key: str, faults: Sequence[Fault]) -> None:
        """Replaces each damaged file of a view in one rename, also under the eyes of those that hold it.

        Raises Gone with the blobs that must be fetched first, Damaged when there is more than these faults.
        """
        building.replace(self._view(key), self.blobs, faults)
        self._view(key).require_whole()

    @contextmanager
    def held(self, key: str) -> Iterator[Path]:
        """The data of a view, which is not evicted meanwhile. The cache may be one that can only be read.

        Raises StepError: CONFIGURATION when it is not staged here, DATA when it is damaged.
        """
        view = self._view(key)
        with view.lease() as is_there:
            if not is_there:
                raise configuration_error(f"{view.folder}: is not staged on this node; run the stage step here")
            self._checked(view)
            try:
                yield view.data
            finally:
                view.mark_as_used()  # the run's next pod may not be there yet

    def _checked(self, view: View) -> Version:
        """The version in a view that is on lease; it is marked as used. Raises StepError."""
        self._layout.require_known()
        version = view.version()
        view.require_whole()
        view.mark_as_used()
        return version

    def _xxh3_of(self, md5s: set[str]) -> dict[str, str]:
        """What other views know of these blobs."""
        found: dict[str, str] = {}
        for view in views(self._layout) if md5s else []:
            with suppress(StepError):  # of no concern here
                found |= {one.md5: one.xxh3 for one in view.index().values() if one.xxh3 and one.md5 in md5s}
        return found

    def _view(self, key: str) -> View:
        return View(self._layout.datasets / key)
