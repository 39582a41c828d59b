"""What a cache may take, and what its disk has."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

RESERVE = 0.05
"""Share of the disk that stays free: file systems slow down when full, and other programs need some."""
RESERVED_AT_MOST = 10 << 30
"""Bytes; 5 % of a large disk of a laptop is more than its owner may have free."""


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes and files."""

    bytes: int = 0
    files: int = 0

    def __add__(self, other: "Space") -> "Space":
        return Space(self.bytes + other.bytes, self.files + other.files)

    def __sub__(self, other: "Space") -> "Space":
        return Space(self.bytes - other.bytes, self.files - other.files)

    def __mul__(self, share: float) -> "Space":
        return Space(int(self.bytes * share), int(self.files * share))

    def fits(self, other: "Space") -> bool:
        return self.bytes <= other.bytes and self.files <= other.files

    def smaller(self, other: "Space") -> "Space":
        """The smaller of each."""
        return Space(min(self.bytes, other.bytes), min(self.files, other.files))

    def __str__(self) -> str:
        return f"{self.bytes:,} bytes and {self.files:,} files"


UNLIMITED = Space(2**63, 2**63)


@dataclass(frozen=True, slots=True)
class Limit:
    """What a cache may hold; 0: what its disk can."""

    bytes: int = 0
    files: int = 0

    @property
    def space(self) -> Space:
        return Space(self.bytes or UNLIMITED.bytes, self.files or UNLIMITED.files)

    def __str__(self) -> str:
        parts = [f"{self.bytes:,} bytes" * (self.bytes > 0), f"{self.files:,} files" * (self.files > 0)]
        return " and ".join(filter(None, parts)) or "none"


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system: all of it, and what is free."""

    total: Space
    free: Space

    @classmethod
    def of(cls, folder: Path) -> Self:
        status = os.statvfs(folder)
        total, free = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
        if status.f_files == 0:  # such as btrfs, which makes inodes as it needs them
            return cls(Space(total, UNLIMITED.files), Space(free, UNLIMITED.files))
        return cls(Space(total, status.f_files), Space(free, status.f_favail))

    @property
    def reserve(self) -> Space:
        """What stays free."""
        share = self.total * RESERVE
        return Space(min(share.bytes, RESERVED_AT_MOST), share.files)

    @property
    def usable(self) -> Space:
        """What is free beyond the reserve."""
        return self.free - self.reserve
