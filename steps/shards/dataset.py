"""The samples of a split, each read from its place in a shard."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, data_error
from argosy.steps.shards import naming

OPEN_SHARDS = 64


@dataclass(frozen=True, slots=True)
class Places:
    """Where the samples of a split are: 36 bytes for each member, and 16 and its key for each sample."""

    extensions: tuple[str, ...]
    kinds: NDArray[np.int32]
    """Of each member: which extension."""
    starts: NDArray[np.int64]
    """Of each member: byte of its shard."""
    sizes: NDArray[np.int64]
    """Of each member: bytes."""
    first_members: NDArray[np.int64]
    """Of each sample, and the end of the last."""
    first_samples: NDArray[np.int64]
    """Of each shard, and the end of the last."""
    keys: bytes
    key_ends: NDArray[np.int64]
    """Of the keys of all samples, one after the other; it begins with 0."""

    @property
    def bytes(self) -> int:
        """Memory that they take."""
        columns = (self.kinds, self.starts, self.sizes, self.first_members, self.first_samples, self.key_ends)
        return sum(column.nbytes for column in columns) + len(self.keys)


@dataclass(frozen=True, slots=True)
class Sample:
    shard: str
    key: str
    members: Mapping[str, bytes]
    """Extension, in lower case -> content."""

    @property
    def place(self) -> str:
        """For a person."""
        return f"{self.shard}: sample {self.key}"


class Dataset:
    """An indexed split. It can be sent to another process, and read by several threads."""

    def __init__(self, shards: Sequence[Path], places: Places) -> None:
        self.shards, self.places = tuple(shards), places
        self._opened = lru_cache(OPEN_SHARDS)(_Descriptor)

    def __len__(self) -> int:
        return len(self.places.first_members) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self.shards, self.places)

    @property
    def shard_lengths(self) -> NDArray[np.int64]:
        """Samples in each shard."""
        return np.diff(self.places.first_samples)

    def sample(self, number: int) -> Sample:
        """Raises StepError as `members` does."""
        return Sample(str(self.shard(number)), self.key(number), self.members(number))

    def members(self, sample: int) -> dict[str, bytes]:
        """Extension, in lower case -> content.

        Raises StepError: TEMPORARY when the shard cannot be read, DATA when it has become shorter.
        """
        first, end = self.places.first_members[sample : sample + 2].tolist()
        shard = self.shard(sample)
        kinds, starts, sizes = (
            column[first:end].tolist() for column in (self.places.kinds, self.places.starts, self.places.sizes)
        )
        try:
            file = self._opened(shard)
            return {
                self.places.extensions[kind]: file.read(start, size)
                for kind, start, size in zip(kinds, starts, sizes, strict=True)
            }
        except OSError as error:
            raise StepError(
                ExitCode.TEMPORARY, f"{shard}: sample {self.key(sample)}: cannot be read: {error.strerror}"
            ) from None
        except EOFError:
            raise data_error(f"{shard}: has become shorter since it was indexed; stage it again") from None

    def key(self, sample: int) -> str:
        begin, end = self.places.key_ends[sample : sample + 2].tolist()
        return naming.text(self.places.keys[begin:end])

    def shard(self, sample: int) -> Path:
        return self.shards[int(np.searchsorted(self.places.first_samples, sample, "right")) - 1]


class _Descriptor:
    """An open shard. It is closed when nobody reads it any more, also by a thread that still does."""

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDONLY)

    def read(self, start: int, size: int) -> bytes:
        content = os.pread(self._number, size, start)
        while len(content) < size:  # one call reads 2 GiB at most
            more = os.pread(self._number, size - len(content), start + len(content))
            if not more:
                raise EOFError
            content += more
        return content

    def __del__(self) -> None:
        if number := getattr(self, "_number", None):
            os.close(number)
