"""What each file of a view was when it was staged."""

import json
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from argosy.steps import files
from argosy.steps.cache import hashing
from argosy.steps.cache.faults import Fault


class File(NamedTuple):
    """A file of a view, as it was staged."""

    path: str
    md5: str
    xxh3: str
    """Empty: not known, its md5 counts."""
    stamp: str
    """`size mtime-ns inode`."""

    @property
    def bytes(self) -> int:
        return int(self.stamp.partition(" ")[0])

    def is_in(self, path: Path) -> bool:
        """Whether the file there has its bytes. All of them are read."""
        status = path.stat(follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode) or status.st_size != self.bytes:
            return False
        return hashing.xxh3(path) == self.xxh3 if self.xxh3 else hashing.md5(path) == self.md5


Index = dict[str, File]
"""Path in the view's data -> file."""


def read(path: Path) -> Index:
    """Raises FileNotFoundError, or ValueError for what is no index."""
    rows = json.loads(path.read_bytes())
    try:
        return {path: File(path, md5, xxh3, stamp) for path, md5, xxh3, stamp in rows["files"]}
    except (TypeError, KeyError) as error:
        raise ValueError(str(error)) from error


def write(path: Path, index: Index) -> None:
    files.write_text(path, json.dumps({"files": list(index.values())}) + "\n")


def stamped(index: Index, stamps: Iterable[str]) -> Index:
    """The same files with the status that they have now, where they are there."""
    now = _by_path(stamps)
    return {path: file._replace(stamp=now.get(path, file.stamp)) for path, file in index.items()}


def faults(folder: Path, index: Index, stamps: Sequence[str]) -> list[Fault]:
    """What is not as it was staged in this folder of data. Only what seems to have changed is read."""
    there = _by_path(stamps)
    found = [Fault(path, "is missing", index[path].md5) for path in index.keys() - there.keys()]
    found += [Fault(path, "was not staged") for path in there.keys() - index.keys()]
    found += [
        Fault(path, "has other bytes", file.md5)
        for path, file in index.items()
        if there.get(path, file.stamp) != file.stamp and not file.is_in(folder / path)
    ]
    return sorted(found, key=lambda fault: fault.path)


def _by_path(stamps: Iterable[str]) -> Mapping[str, str]:
    return {path: stamp for path, _, stamp in (line.partition("\0") for line in stamps)}
