"""What is wrong with a cache, and what to do about it."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from argosy.steps import files
from argosy.steps.cache import boot, locks
from argosy.steps.cache.blobs import Blobs
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.rights import require_writable
from argosy.steps.cache.space import Disk
from argosy.steps.cache.trash import HOUR
from argosy.steps.cache.view import views
from argosy.steps.errors import StepError

REMOTE = ("nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "ceph", "glusterfs", "9p", "virtiofs")
"""File systems on which locks may be given to everyone, and renames seen late."""


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question; what is not ok says what to do."""

    question: str
    state: State
    message: str


def findings(layout: Layout) -> Iterator[Finding]:
    """All that can be told of a cache without reading its files."""
    try:
        layout.require_known()
        for folder in layout.folders:
            require_writable(folder, "")
    except StepError as error:
        yield Finding("cache", State.FAILED, error.message)
        return
    yield Finding("cache", State.OK, f"{layout.root} can be written")
    yield _kind(layout)
    yield _locks(layout)
    yield _links(layout)
    yield _space(layout)
    yield from _views(layout)
    yield _leftovers(layout)
    yield _boot(layout)


def _kind(layout: Layout) -> Finding:
    kind = _file_system(layout.root)
    if kind.removeprefix("fuse.") in REMOTE or kind.startswith("fuse"):
        message = f"is on {kind}, which machines may share; put the cache on a disk of the node"
        return Finding("disk", State.WARNING, message)
    return Finding("disk", State.OK, f"is on {kind or 'a file system whose kind is not known'}")


def _file_system(folder: Path) -> str:
    """Its kind; empty where the machine does not tell (proc(5), mountinfo)."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:
        return ""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    return next((fields[fields.index("-") + 1] for fields in mounts if fields[2] == number), "")


def _locks(layout: Layout) -> Finding:
    if locks.work(layout.locks):
        return Finding("locks", State.OK, "keep a second pod out")
    message = "do not work: pods may fetch the same twice, and nothing is evicted; put the cache on a disk of the node"
    return Finding("locks", State.WARNING, message)


def _links(layout: Layout) -> Finding:
    one, other = files.partial(layout.locks), files.partial(layout.locks)
    one.touch()
    try:
        other.hardlink_to(one)
    except OSError as error:
        message = f"are refused ({error.strerror}): every version is a copy; put the cache on ext4, xfs or btrfs"
        return Finding("links", State.WARNING, message)
    finally:
        one.unlink()
        other.unlink(missing_ok=True)
    return Finding("links", State.OK, "let versions share files")


def _space(layout: Layout) -> Finding:
    disk = Disk.of(layout.root)
    if disk.usable.bytes < 0 or disk.usable.files < 0:
        message = f"{disk.free} are free, of which {disk.reserve} should stay; `prune --all-unused` makes room"
        return Finding("space", State.WARNING, message)
    return Finding("space", State.OK, f"{disk.free} are free")


def _views(layout: Layout) -> Iterator[Finding]:
    count = 0
    for view in views(layout):
        count += 1
        try:
            with view.lease() as is_there:
                if is_there:
                    view.version()
                    view.require_whole()
        except StepError as error:
            yield Finding("versions", State.FAILED, error.message)
    yield Finding("versions", State.OK, f"{count} are there")


def _leftovers(layout: Layout) -> Finding:
    left = [path for folder in (layout.partial, layout.trash) for path in folder.iterdir()]
    long_ago = time.time() - HOUR
    alone = [one for _, one in Blobs(layout.root).scan() if one.st_nlink == 1 and one.st_ctime < long_ago]
    size = sum(one.st_size for one in alone)
    message = f"{len(left)} unfinished or thrown away, {len(alone)} files ({size / 1e6:,.1f} MB) in no version"
    if left or alone:
        return Finding("leftovers", State.OK, f"{message}; the next stage, or `prune`, removes what nobody works on")
    return Finding("leftovers", State.OK, "none")


def _boot(layout: Layout) -> Finding:
    is_same = layout.boot.exists() and layout.boot.read_text() == boot.identity()
    message = "nothing was staged since this machine's boot: what no version holds is fetched again"
    return Finding("boot", State.OK, "is the one of the last stage" if is_same else message)
