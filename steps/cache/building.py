"""Builds views out of blobs, and mends them."""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from argosy.steps import files
from argosy.steps.cache import contents, durability
from argosy.steps.cache.blobs import Blobs, is_sealed
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.faults import Fault, Gone
from argosy.steps.cache.index import File
from argosy.steps.cache.version import Version
from argosy.steps.cache.view import View

NO_LINK = (errno.EMLINK, errno.EPERM, errno.ENOTSUP, errno.EXDEV)
"""A copy must do: an inode has at most 65,000 links on ext4, and not every file system or owner may have any."""


def build(view: View, blobs: Blobs, version: Version, entries: Sequence[Entry], xxh3: Mapping[str, str]) -> Version:
    """Makes a view in a new folder; returns its version, complete. Raises Gone."""
    view.folder.mkdir()
    _lay_out(str(view.data), blobs, entries)
    stamps = contents.stamps(view.data)
    _require_sealed(entries, stamps, blobs)
    view.record({one.path: File(one.path, one.md5, xxh3.get(one.md5, ""), "") for one in entries}, stamps)
    described = version.model_copy(update={"files": len(stamps), "bytes": sum(map(contents.size, stamps))})
    view.describe(described)
    for folder, _, _ in os.walk(view.data):
        Path(folder).chmod(0o555)
    return described


def _lay_out(data: str, blobs: Blobs, entries: Sequence[Entry]) -> None:
    """Links every entry to its blob. Raises Gone."""
    Path(data).mkdir()
    folders, copies, gone = {""}, dict[str, str](), []
    for entry in entries:
        folder = entry.path.rpartition("/")[0]
        if folder not in folders:
            Path(data, folder).mkdir(parents=True, exist_ok=True)
            folders.add(folder)
        target = f"{data}/{entry.path}"
        try:
            if link(copies.get(entry.md5) or blobs.name(entry.md5), target):
                copies[entry.md5] = target
        except FileNotFoundError:
            if blobs.has(entry.md5):
                raise
            gone.append(entry.md5)
    if gone:
        raise Gone(gone)


def link(source: str, target: str) -> bool:
    """Gives a file another name; makes a copy where it can have none. Whether it is a copy."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINK:
            raise
        shutil.copy2(source, target)
        return True
    return False


def _require_sealed(entries: Sequence[Entry], stamps: Sequence[str], blobs: Blobs) -> None:
    """Nobody wrote to these blobs after they were verified; if so they are as good as gone. Raises Gone."""
    if touched := contents.touched(stamps):
        gone = [entry.md5 for entry in entries if entry.path in touched]
        for md5 in gone:
            blobs.remove(md5)
        raise Gone(gone)


def replace(view: View, blobs: Blobs, faults: Sequence[Fault]) -> None:
    """Puts whole files in place of those that are not, each in one rename. Raises Gone, before anything is replaced."""
    fresh = _fresh([fault for fault in faults if fault.md5], blobs)
    durability.sync(view.folder)
    for fault in sorted(faults, key=lambda one: bool(one.md5)):  # first what is in the way
        path = view.data / fault.path
        with _writable(view.data, PurePosixPath(fault.path).parent):
            if path.is_dir() and not path.is_symlink():
                files.remove_folder(path)
            if fault.md5:
                fresh[fault.path].replace(path)
            else:
                path.unlink(missing_ok=True)


def _fresh(faults: Sequence[Fault], blobs: Blobs) -> dict[str, Path]:
    """For each of these files a new name of its blob, outside of any view. Raises Gone."""
    fresh, gone = {}, []
    for fault in faults:
        fresh[fault.path] = path = blobs.workplace.new()
        try:
            link(blobs.name(fault.md5), str(path))
        except FileNotFoundError:
            if blobs.has(fault.md5):
                raise
        if not (path.exists() and is_sealed(path.lstat())):
            gone.append(fault.md5)
    if gone:
        raise Gone(gone)
    return fresh


@contextmanager
def _writable(data: Path, inside: PurePosixPath) -> Iterator[None]:
    """A folder of the data is there, and can be written meanwhile."""
    folders = [data / folder for folder in (*reversed(inside.parents), inside)]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o555)
