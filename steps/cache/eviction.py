"""Makes a cache smaller: what was used least recently goes first, and never what is in use.

A view is in use while its lease is held, within an hour of its last use (a run's next pod may not be there yet), and
while it is staged.
"""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from argosy.steps.cache import locks, trash
from argosy.steps.cache.blobs import Blobs
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.space import Disk, Limit, Space
from argosy.steps.cache.trash import HOUR
from argosy.steps.cache.view import View, views
from argosy.steps.errors import StepError, configuration_error

FULL = 0.9
"""Share of the budget that is left in use: the next stage need not evict again."""


class Eviction:
    """One reckoning of a cache, and what it can do without."""

    def __init__(self, layout: Layout, blobs: Blobs, keep: Collection[str] = (), own: Path | None = None) -> None:
        """`keep` are blobs that stay; `own` is the lock of the stage that makes room for itself."""
        self._layout = layout
        self._own = own
        self._blobs = blobs
        self._keep = frozenset(keep)
        self._lost: list[str] = []
        """Blobs of stages that never came to their end, or of views whose eviction did not."""
        self.used = Space()
        self._reckon()

    def shrink(self, target: Space) -> None:
        """Evicts until this much is used, or nothing can be done without any more."""
        if not self.used.fits(target) and not self._others_stage():
            self._free(self._lost)
        for view in self._unused():
            if self.used.fits(target):
                return
            self._evict(view)

    def _unused(self) -> Iterator[View]:
        """Views by their last use. One that is dated well into the future was used before a clock was put right."""
        for used_at, view in sorted(_dated(self._layout), key=lambda one: one[0]):
            is_recent = abs(time.time() - used_at) < HOUR
            if not is_recent and not locks.is_held(self._layout.staging_lock(view.folder.name)):
                yield view

    def _evict(self, view: View) -> None:
        md5s = _named_by(view)
        with locks.attempt(view.lock) as is_free:
            if not is_free:
                view.mark_as_used()  # for those who hold it, and may not write
                return
            try:
                thrown = trash.throw(view.folder, self._layout)
            except PermissionError:  # another user's
                return
        trash.empty(thrown)
        self._free(md5s)

    def _free(self, md5s: Iterable[str]) -> None:
        """Removes those blobs that are in no view."""
        for md5 in set(md5s) - self._keep:
            with suppress(FileNotFoundError):
                status = os.lstat(self._blobs.name(md5))
                if status.st_nlink == 1:
                    self._blobs.remove(md5)
                    self.used -= _space_of(status)

    def _others_stage(self) -> bool:
        """Whether blobs may be on their way into a view."""
        return any(locks.is_held(lock) for lock in self._layout.staging_locks() if lock != self._own)

    def _reckon(self) -> None:
        for md5, status in self._blobs.scan():
            self.used += _space_of(status)
            if status.st_nlink == 1:
                self._lost.append(md5)


def make_room(
    layout: Layout, blobs: Blobs, need: Space, limit: Limit, *, keep: Collection[str], own: Path | None
) -> None:
    """Evicts what `need` has no room beside. Raises StepError (CONFIGURATION) when that is not enough."""
    if limit == Limit() and need.fits(Disk.of(layout.root).usable):
        return
    if not locks.work(layout.locks):
        _require(layout, Eviction(layout, blobs).used, need, limit, "; nothing is evicted, for no locks work there")
        return
    with locks.exclusive(layout.locks / "evict", "makes room in the cache"):
        eviction = Eviction(layout, blobs, keep, own)
        budget = _budget(layout, eviction.used, limit)
        if not need.fits(budget):
            raise _refusal(layout, need, limit, "")
        if not (eviction.used + need).fits(budget):
            eviction.shrink(budget * FULL - need)
        _require(layout, eviction.used, need, limit, "; what else is there is in use, or was within the hour")


def _budget(layout: Layout, used: Space, limit: Limit) -> Space:
    return limit.space.smaller(used + Disk.of(layout.root).usable)


def _require(layout: Layout, used: Space, need: Space, limit: Limit, reason: str) -> None:
    if not (used + need).fits(_budget(layout, used, limit)):
        raise _refusal(layout, need, limit, reason)


def _refusal(layout: Layout, need: Space, limit: Limit, reason: str) -> StepError:
    disk = Disk.of(layout.root)
    return configuration_error(
        f"{layout.root}: needs {need}; its disk has {disk.free} free, of which {disk.reserve} stay so, "
        f"and its limit is {limit}{reason}; make room on that disk, or raise the limit"
    )


def _space_of(status: os.stat_result) -> Space:
    return Space(status.st_blocks * 512, 1)


def _dated(layout: Layout) -> Iterator[tuple[float, View]]:
    for view in views(layout):
        with suppress(FileNotFoundError):
            yield view.used_at, view


def _named_by(view: View) -> frozenset[str]:
    try:
        return frozenset(file.md5 for file in view.index().values())
    except StepError:
        return frozenset()
