"""Where each sample of a split is, out of the headers of its shards `SPLIT-*.tar`.

What webdataset skips or garbles without a word is refused here. Keys may stand in any order: a training has an order
of its own, and shards are often written shuffled. An extension may hold dots (`seg.png`); one that only some samples
have may be half of a name, and is a warning.
"""

import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from argosy.steps.errors import data_error
from argosy.steps.shards import naming
from argosy.steps.shards.dataset import Dataset
from argosy.steps.shards.faults import Faults
from argosy.steps.shards.headers import DamageError, Member, members
from argosy.steps.shards.places import Places


def index(folder: Path, split: str) -> Dataset:
    """A split's samples, shard by shard; those of each dataset's folder where a run has several.

    Raises StepError (DATA) when there are none, or with every fault of the shards, by shard and byte. Says on stderr
    which extensions with dots only some samples have.
    """
    shards = sorted(folder.glob(f"{split}-*.tar")) or sorted(folder.glob(f"*/{split}-*.tar"))
    if not shards:
        raise data_error(f"{folder}: has no {split}-*.tar; a split {split} must be in the dataset")
    growing, faults = _Growing(), Faults()
    for shard in shards:
        _add(shard, growing, faults)
    if faults:
        raise faults.refusal()
    dataset = Dataset(shards, growing.extensions(), growing.places())
    _warn_of_dots(dataset)
    return dataset


def _add(shard: Path, growing: "_Growing", faults: Faults) -> None:
    try:
        parts = _parts(shard, faults)
        found = False
        for part in parts:
            growing.add(part)
            found = True
        if not found and not faults.are_of(shard):
            faults.add(shard, "holds no samples")
    except DamageError as damage:
        faults.add(shard, str(damage))
    except OSError as error:
        faults.add(shard, f"cannot be read: {error.strerror}")
    growing.end_shard()


class _Part(NamedTuple):
    """A member as a part of a sample."""

    key: bytes
    extension: bytes
    begins_sample: bool
    start: int
    size: int


def _parts(shard: Path, faults: Faults) -> Iterator[_Part]:
    """The members that belong to samples; the others are named as faults. Raises DamageError."""
    complete: set[bytes] = set()
    current, extensions = b"", set[bytes]()
    for member in members(shard):
        if member.is_folder or naming.is_metadata(member.name):
            continue
        named = naming.split(member.name)
        if not member.is_regular:
            faults.add(shard, f"{_where(member)} is no regular file")
        elif named is None:
            faults.add(shard, f"{_where(member)} has no extension, so it belongs to no sample")
        else:
            key, extension = named[0], named[1].lower()
            begins = key != current
            if begins:
                complete.add(current)
                current, extensions = key, set()
            if key in complete:
                faults.add(shard, f"{_where(member)} stands apart from the other members of its sample")
            elif extension in extensions:
                faults.add(shard, f"{_where(member)} stands twice")
            extensions.add(extension)
            yield _Part(key, extension, begins, member.start, member.size)


def _where(member: Member) -> str:
    return f"member {naming.text(member.name)} at byte {member.begin}"


class _Growing:
    """An index that grows by a member at a time."""

    def __init__(self) -> None:
        self._extensions: dict[bytes, int] = {}
        self._kinds, self._starts, self._sizes = array("l"), array("q"), array("q")
        self._first_members, self._first_samples = array("q"), array("q", [0])
        self._keys, self._key_ends = bytearray(), array("q", [0])

    def add(self, part: _Part) -> None:
        if part.begins_sample:
            self._first_members.append(len(self._starts))
            self._keys += part.key
            self._key_ends.append(len(self._keys))
        self._kinds.append(self._extensions.setdefault(part.extension, len(self._extensions)))
        self._starts.append(part.start)
        self._sizes.append(part.size)

    def end_shard(self) -> None:
        self._first_samples.append(len(self._first_members))

    def extensions(self) -> list[str]:
        return [naming.text(extension) for extension in self._extensions]

    def places(self) -> Places:
        self._first_members.append(len(self._starts))
        return Places(
            kinds=np.array(self._kinds, np.int32),
            starts=_frozen(self._starts),
            sizes=_frozen(self._sizes),
            first_members=_frozen(self._first_members),
            first_samples=_frozen(self._first_samples),
            keys=np.frombuffer(self._keys, np.uint8),
            key_ends=_frozen(self._key_ends),
        )


def _frozen(numbers: "array[int]") -> NDArray[np.int64]:
    return np.frombuffer(numbers, np.int64)


def _warn_of_dots(dataset: Dataset) -> None:
    places = dataset.places
    counts = np.bincount(places.kinds, minlength=len(dataset.extensions))
    for kind, extension in enumerate(dataset.extensions):
        if "." in extension and counts[kind] < len(dataset):
            first = int(np.argmax(places.kinds == kind))
            sample = int(np.searchsorted(places.first_members, first, "right")) - 1
            sys.stderr.write(
                f"{dataset.shard(sample)}: sample {dataset.key(sample)}: has a member {extension}, as "
                f"{counts[kind]:,} of {len(dataset):,} samples have: a key ends at its first dot; rename the files if "
                "their names hold dots\n"
            )
