"""Hashes of whole files."""

import errno
import hashlib
from pathlib import Path
from typing import Protocol

import xxhash

CHUNK_BYTES = 1 << 20


class Hash(Protocol):
    def update(self, data: memoryview, /) -> None: ...
    def hexdigest(self) -> str: ...


def md5(path: Path) -> str:
    """DVC's hash."""
    return _hashed(path, hashlib.md5(usedforsecurity=False))


def xxh3(path: Path) -> str:
    """xxh3_128: 30 times faster than md5, against damage and not against malice."""
    return _hashed(path, xxhash.xxh3_128())


def _hashed(path: Path, digest: Hash) -> str:
    """Empty for a file that its disk cannot read any more: no other file has that hash."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    try:
        with path.open("rb", buffering=0) as file:
            while size := file.readinto(buffer):
                digest.update(buffer[:size])
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return ""
    return digest.hexdigest()
