"""Reads what is in a cache, and finds what is not as it was staged."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from argosy.steps.cache import contents, index
from argosy.steps.cache.blobs import Blobs
from argosy.steps.cache.index import File
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.view import View, views
from argosy.steps.errors import StepError
from argosy.steps.progress import Progress


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in a cache that is not as it was staged."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Check:
    """A file to read, which may have several names."""

    paths: tuple[Path, ...]
    file: File

    def is_passed(self, *, by_md5: bool) -> bool:
        try:
            return (self.file._replace(xxh3="") if by_md5 else self.file).is_in(self.paths[0])
        except FileNotFoundError:  # evicted just now
            return True


def verify(layout: Layout, *, by_md5: bool) -> list[Damage]:
    """Reads every file once, however many views it is in, by xxh3 where that is known.

    What has other bytes is marked, so that the next stage of its view replaces it.
    """
    damages, checks = [], []
    for view in views(layout):
        with view.lease() as is_there:
            if is_there:
                found, faults = _checks(view)
                checks += found
                damages += faults
    checks += _unlinked(layout)
    return sorted(damages + list(_read(_once(checks), by_md5=by_md5)), key=lambda one: one.path)


def _checks(view: View) -> tuple[list[Check], list[Damage]]:
    """The files of a view to read, and what is missing or too much."""
    try:
        staged = view.index()
    except StepError as error:
        return [], [Damage(str(view.folder), error.message)]
    stamps = contents.stamps(view.data)
    as_now = index.stamped(staged, stamps)
    faults = [Damage(str(view.data / one.path), one.reason) for one in index.faults(view.data, as_now, stamps)]
    there = {line.partition("\0")[0] for line in stamps}
    return [Check((view.data / path,), file) for path, file in staged.items() if path in there], faults


def _unlinked(layout: Layout) -> Iterator[Check]:
    blobs = Blobs(layout.root)
    for md5, status in blobs.scan():
        if status.st_nlink == 1:
            yield Check((blobs.path(md5),), File(md5, md5, "", contents.stamp(status)))


def _once(checks: Sequence[Check]) -> list[Check]:
    """One check for each inode and hash that it should have."""
    found: dict[tuple[int, str], Check] = {}
    for check in checks:
        with suppress(FileNotFoundError):  # evicted just now
            key = check.paths[0].lstat().st_ino, check.file.md5
            found[key] = Check((*found[key].paths, *check.paths), check.file) if key in found else check
    return list(found.values())


def _read(checks: Sequence[Check], *, by_md5: bool) -> Iterator[Damage]:
    """Reads files, several at a time: hashing leaves Python's lock alone."""
    total = sum(check.file.bytes for check in checks)
    progress, done = Progress(total), 0

    def line() -> str:
        return f"read {done / 1e6:,.1f} of {total / 1e6:,.1f} MB"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for check, is_passed in zip(checks, pool.map(partial(Check.is_passed, by_md5=by_md5), checks), strict=True):
            done += check.file.bytes
            progress.report(done, line)
            if not is_passed:
                with suppress(OSError):  # another user's cache, or one that may only be read
                    os.utime(check.paths[0], (0, 0), follow_symlinks=False)
                yield from (Damage(str(path), "has other bytes") for path in check.paths)
