"""Where the samples of a split are, in memory or in files that several processes read from the same memory."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Places:
    """36 bytes for each member, and 16 and its key for each sample."""

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
    keys: NDArray[np.uint8]
    key_ends: NDArray[np.int64]
    """Of the keys of all samples, one after the other; it begins with 0."""

    @property
    def bytes(self) -> int:
        """Memory that they take."""
        return sum(column.nbytes for column in self._columns().values())

    def write(self, folder: Path) -> None:
        for name, column in self._columns().items():
            np.save(folder / f"{name}.npy", column)

    @classmethod
    def opened(cls, folder: Path) -> Self:
        """What `write` wrote, page by page as it is needed."""
        names = [field.name for field in fields(cls)]
        # As plain arrays: slices of a memmap take three times as long.
        return cls(*(np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in names))

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
