"""What a staged dataset holds, and whether it still does.

Nobody would read terabytes before each pod. A file counts as unchanged while its size, its time of change and its inode
are as they were, as in git's index; otherwise its bytes are hashed again.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from argosy.steps.contracts import Contract

Stats = Iterator[tuple[str, os.stat_result]]


class File(Contract):
    """A file as it was staged."""

    md5: str
    bytes: int
    mtime_ns: int
    inode: int

    @classmethod
    def staged(cls, md5: str, status: os.stat_result) -> Self:
        return cls(md5=md5, bytes=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)


def faults(folder: Path, staged: Mapping[str, File]) -> list[str]:
    """What is not as it was staged in this folder, one for each file: `train-0000.tar is missing`."""
    there = dict(_files(str(folder)))
    missing = [f"{path} is missing" for path in staged.keys() - there.keys()]
    added = [f"{path} was not staged" for path in there.keys() - staged.keys()]
    changed = [
        f"{path} has other bytes"
        for path, file in staged.items()
        if (status := there.get(path)) and _differs(folder / path, status, file)
    ]
    return sorted(missing + added + changed)


def _differs(path: Path, status: os.stat_result, file: File) -> bool:
    if File.staged(file.md5, status) == file:
        return False
    return not stat.S_ISREG(status.st_mode) or status.st_size != file.bytes or _md5(path) != file.md5


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _files(folder: str, inside: str = "") -> Stats:
    """Path in the folder, and status. Through scandir: ten times faster than Path, for datasets of many files."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{inside}{entry.name}/")
            else:
                yield f"{inside}{entry.name}", entry.stat(follow_symlinks=False)
