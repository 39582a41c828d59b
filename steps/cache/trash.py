"""What is removed leaves its place in one rename, and what a killed owner left behind is removed by the next."""

import os
import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path

from argosy.steps import files
from argosy.steps.cache import locks
from argosy.steps.cache.blobs import JOURNAL, PART, Blobs
from argosy.steps.cache.layout import Layout

HOUR, DAY = 3600.0, 86_400.0


def throw(path: Path, layout: Layout) -> Path:
    """Takes something out of its place; returns where it is now. Raises FileNotFoundError, PermissionError."""
    thrown = layout.trash / uuid.uuid4().hex
    if path.is_dir():
        path.chmod(0o755)  # rename(2): a folder that changes its parent must be writable
    path.rename(thrown)
    return thrown


def empty(path: Path) -> None:
    """Removes what was thrown. Another may be doing the same; what cannot be removed now is later."""
    if not path.is_dir() or path.is_symlink():
        with suppress(OSError):
            path.unlink()
        return
    for folder, _, _ in os.walk(path):
        with suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def remove(path: Path, layout: Layout) -> None:
    """Removes it, unless another does, or it is another user's."""
    with suppress(FileNotFoundError, PermissionError):
        empty(throw(path, layout))


def sweep(layout: Layout, blobs: Blobs, *, locks_work: bool) -> None:
    """Removes what nobody works on any more."""
    for thrown in layout.trash.iterdir():
        empty(thrown)
    for leftover in layout.partial.iterdir():
        with suppress(PermissionError):  # another user's
            if leftover.suffix in (PART, JOURNAL):
                _sweep_beginning(leftover, layout, blobs)
            else:
                _sweep_workplace(leftover, layout, locks_work=locks_work)
    for folder in (layout.root, layout.datasets, layout.blobs, layout.locks):
        for probe in folder.glob(f"{files.PARTIAL}*"):
            if _is_older(probe, HOUR):
                remove(probe, layout)
    if locks_work:
        _sweep_locks(layout)


def _sweep_workplace(folder: Path, layout: Layout, *, locks_work: bool) -> None:
    if not locks_work:
        if _is_older(folder, DAY):  # a large blob may be written to it for hours
            remove(folder, layout)
        return
    with locks.attempt(folder) as is_ownerless:
        if is_ownerless:
            remove(folder, layout)


def _sweep_locks(layout: Layout) -> None:
    for lock in layout.locks.iterdir():
        if lock.name.startswith(files.PARTIAL):
            continue  # whoever tries locks out must meet nobody
        with suppress(PermissionError), locks.attempt(lock) as is_free:
            if is_free:
                lock.unlink(missing_ok=True)


def _sweep_beginning(part: Path, layout: Layout, blobs: Blobs) -> None:
    """Of a large blob: of no use when the blob is whole by now, or nobody went on with it for a day."""
    lock = layout.locks / f"blob-{part.stem}"
    with locks.attempt(lock, create=True) as is_free:
        if is_free and (blobs.has(part.stem) or _is_older(part, DAY)):
            remove(part, layout)
        if is_free:
            lock.unlink(missing_ok=True)


def _is_older(path: Path, seconds: float) -> bool:
    """Whether nobody wrote to it for so long, by the file system's clock; a time to come is as good as long ago."""
    try:
        return abs(time.time() - path.lstat().st_mtime) > seconds
    except FileNotFoundError:
        return False
