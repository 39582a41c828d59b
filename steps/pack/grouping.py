"""A folder's files as samples, as webdataset will group them when it reads them out of a shard."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from argosy.steps.errors import StepError, configuration_error, data_error

SHOWN = 3
"""How many files a refusal names."""

SKIPPED = re.compile(r"__[^/]*__($|/)")
"""Names that webdataset takes for metadata and passes over (webdataset/tariterators.py, tar_file_iterator)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a sample."""

    name: str
    """Path relative to the folder, with slashes."""
    extension: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The files with one key: the path up to the first dot of the file's name."""

    key: str
    members: Sequence[Member]


def samples(folder: Path) -> list[Sample]:
    """A folder's samples, by key.

    Raises StepError: DATA for files that a reader of shards would lose, CONFIGURATION for folders that cannot be read.
    """
    from webdataset.tariterators import base_plus_ext

    groups: dict[str, list[Member]] = defaultdict(list)
    lost: list[str] = []
    for name, size in _files(folder):
        key, extension = base_plus_ext(name)
        if key is None or key.endswith("/") or SKIPPED.match(name):
            lost.append(name)
        else:
            groups[key].append(Member(name, extension, size))
    if lost:
        raise _refused(
            folder, lost, "belongs to no sample (its name has no extension, begins with a dot, or is __so__)"
        )
    if not groups:
        raise data_error(f"{folder}: holds no files; name the folder whose files are to be packed")
    found = [Sample(key, sorted(groups[key], key=lambda one: one.name)) for key in sorted(groups)]
    _refuse_dotted_names(folder, found)
    _refuse_twins(folder, found)
    return found


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Every file's path relative to the folder, and its size."""
    for parent, folders, names in os.walk(folder, onerror=_refuse_unreadable):
        linked = [name for name in folders if Path(parent, name).is_symlink()]
        odd = [name for name in names if not Path(parent, name).is_file()]
        if wrong := [str(Path(parent, name).relative_to(folder)) for name in (*linked, *odd)]:
            raise _refused(folder, wrong, "is no regular file, or a link to a folder")
        for name in names:
            path = Path(parent, name)
            yield path.relative_to(folder).as_posix(), path.stat().st_size


def _refuse_unreadable(error: OSError) -> None:
    """A folder that cannot be read would be passed over without a word."""
    raise configuration_error(f"{error.filename}: {error.strerror}; pack as a user who may read all of it") from None


def _refuse_dotted_names(folder: Path, found: Sequence[Sample]) -> None:
    """`22.05.png` and `22.07.png` would be two members of one sample 22.

    `0001.seg.png` beside `0001.jpg` is meant so: then every sample has such a member.
    """
    counts = Counter(member.extension for sample in found for member in sample.members)
    odd = [
        member.name
        for sample in found
        for member in sample.members
        if "." in member.extension and (counts[member.extension] < len(found) or len(found) == 1)
    ]
    if odd:
        raise _refused(
            folder,
            odd,
            "has a dot within its name, and a sample's key ends at the first (only an extension that every sample has "
            "may hold one, such as .seg.png)",
        )


def _refuse_twins(folder: Path, found: Sequence[Sample]) -> None:
    """Extensions are read in lower case, and the second of two is an error (group_by_keys)."""
    for sample in found:
        seen = Counter(member.extension.lower() for member in sample.members)
        if twins := [member.name for member in sample.members if seen[member.extension.lower()] > 1]:
            raise _refused(folder, twins, "differs from another file of its sample in upper and lower case alone")


def _refused(folder: Path, names: Sequence[str], reason: str) -> StepError:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return data_error(f"{folder}: {', '.join(sorted(names)[:SHOWN])}{more}: {reason}; rename or remove it")
