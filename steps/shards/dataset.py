"""The samples of a split, each read from its place in a shard."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, data_error
from argosy.steps.shards import naming
from argosy.steps.shards.places import Places

OPEN_SHARDS = 64
NAMES = "names.json"


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

    def __init__(self, shards: Sequence[Path], extensions: Sequence[str], places: Places) -> None:
        self.shards, self.extensions, self.places = tuple(shards), tuple(extensions), places
        self._opened = lru_cache(OPEN_SHARDS)(_Descriptor)
        self._folder: Path | None = None

    def write(self, folder: Path) -> None:
        """Into an empty folder, for `opened`. Raises OSError."""
        self.places.write(folder)
        names = {"shards": [str(shard) for shard in self.shards], "extensions": self.extensions}
        (folder / NAMES).write_text(json.dumps(names), encoding="ascii")

    @classmethod
    def opened(cls, folder: Path) -> Self:
        """What was written there: the processes that open it have it in memory once. Raises OSError."""
        names = json.loads((folder / NAMES).read_bytes())
        dataset = cls([Path(shard) for shard in names["shards"]], names["extensions"], Places.opened(folder))
        dataset._folder = folder
        return dataset

    def __len__(self) -> int:
        return len(self.places.first_members) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        if self._folder is not None:
            return Dataset.opened, (self._folder,)
        return Dataset, (self.shards, self.extensions, self.places)

    @property
    def shard_lengths(self) -> NDArray[np.int64]:
        """Samples in each shard."""
        return np.diff(self.places.first_samples)

    def samples(self, numbers: Sequence[int]) -> list[Sample]:
        """The disk is asked for all of them before the first is waited for. Raises StepError as `members` does."""
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # whoever reads it says what is wrong
                for number in numbers:
                    self._announce(number)
        return [self.sample(number) for number in numbers]

    def _announce(self, sample: int) -> None:
        first, end = self.places.first_members[sample : sample + 2].tolist()
        begin = int(self.places.starts[first])
        count = int(self.places.starts[end - 1] + self.places.sizes[end - 1]) - begin
        self._opened(self.shard(sample)).announce(begin, count)

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
                self.extensions[kind]: file.read(start, size)
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
        return naming.text(self.places.keys[begin:end].tobytes())

    def shard(self, sample: int) -> Path:
        return self.shards[int(np.searchsorted(self.places.first_samples, sample, "right")) - 1]


class _Descriptor:
    """An open shard. It is closed when nobody reads it any more, also by a thread that still does."""

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDONLY)

    def announce(self, start: int, size: int) -> None:
        os.posix_fadvise(self._number, start, size, os.POSIX_FADV_WILLNEED)

    def read(self, start: int, size: int) -> bytes:
        content = os.pread(self._number, size, start)
        while len(content) < size:  # one call reads 2 GiB at most
            more = os.pread(self._number, size - len(content), start + len(content))
            if not more:
                raise EOFError
            content += more
        return content

    def __del__(self) -> None:
        if hasattr(self, "_number"):  # it has none where it could not be opened
            os.close(self._number)
