"""The members of a tar out of its headers alone, at a few microseconds each: tarfile's own objects cost twenty.

Formats ustar, pax and GNU are read, as tarfile reads them; compressed shards are not.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from tarfile import AREGTYPE, BLOCKSIZE, CONTTYPE, DIRTYPE, GNUTYPE_LONGNAME, REGTYPE, XHDTYPE
from typing import NamedTuple

import numpy as np

NEAR_BYTES = 32 << 10
"""Content after which the next header is read alone, and not together with what lies between."""
WINDOW_BYTES = 256 << 10
REGULAR = frozenset({REGTYPE, AREGTYPE, CONTTYPE})
EXTENSIONS = frozenset({XHDTYPE, GNUTYPE_LONGNAME, b"g", b"K"})
"""Headers whose content says more about the next member."""
WITHOUT_CONTENT = frozenset({b"1", b"2", b"3", b"4", DIRTYPE, b"6"})
"""Links, devices, folders and pipes, whatever size they state (tarfile.py, _proc_builtin)."""
CHECKSUM = slice(148, 156)
VERIFIED_AT_ONCE = 1024


class Member(NamedTuple):
    begin: int
    """Byte at which its first header stands."""
    name: bytes
    kind: bytes
    start: int
    """Byte at which its content stands."""
    size: int

    @property
    def is_regular(self) -> bool:
        return self.kind in REGULAR

    @property
    def is_folder(self) -> bool:
        return self.kind == DIRTYPE or (self.kind == AREGTYPE and self.name.endswith(b"/"))


class DamageError(Exception):
    """The shard cannot be read on: why, and where."""


def members(shard: Path) -> Iterator[Member]:
    """All of them, in order. Raises DamageError where the shard cannot be read on, or does not end as a tar does."""
    descriptor = os.open(shard, os.O_RDONLY)
    try:
        reading = _Reading(descriptor)
        try:
            yield from reading.members()
        except DamageError:
            reading.verify()  # damage further ahead explains this one
            raise
        reading.verify()
    finally:
        os.close(descriptor)


class _Reading:
    """One pass over a shard's headers."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._length = os.fstat(descriptor).st_size
        self._window, self._window_begin, self._window_bytes = b"", 0, WINDOW_BYTES
        self._unverified: list[tuple[int, bytes]] = []

    def members(self) -> Iterator[Member]:
        if not self._length:
            raise DamageError("has 0 bytes")
        offset = begin = 0
        told: dict[bytes, bytes] = {}
        while header := self._header(offset):
            kind, size = header[156:157], _size(header, offset)
            if kind in EXTENSIONS:
                told |= self._told(kind, offset, size)
                offset = _next(offset + BLOCKSIZE, size)
                continue
            name = told.get(b"path") or _name(header)
            size = 0 if kind in WITHOUT_CONTENT else int(told.get(b"size", size))
            start = offset + BLOCKSIZE
            if start + size > self._length:
                raise DamageError(f"ends at byte {self._length}, within member {_shown(name)} at byte {begin}")
            yield Member(begin, name, kind if b"sparse" not in told else b"S", start, size)
            self._window_bytes = WINDOW_BYTES if size < NEAR_BYTES else 2 * BLOCKSIZE
            offset = begin = _next(start, size)
            told = {}
        self._check_end(offset)

    def _header(self, offset: int) -> bytes | None:
        """None: the archive's end is here."""
        block = self._read(offset, BLOCKSIZE)
        if not block[0] and block.count(0) == BLOCKSIZE:
            return None
        self._unverified.append((offset, block))
        if offset == 0 or len(self._unverified) == VERIFIED_AT_ONCE:
            self.verify()
        return block

    def _read(self, offset: int, count: int) -> bytes:
        at = offset - self._window_begin
        if not 0 <= at <= len(self._window) - count:
            is_there = offset + count <= self._length  # a damaged size would else take all memory
            self._window = os.pread(self._descriptor, max(count, self._window_bytes), offset) if is_there else b""
            self._window_begin, at = offset, 0
            if len(self._window) < count:
                raise DamageError(f"ends at byte {self._length}, before its end-of-archive mark")
        return self._window[at : at + count]

    def verify(self) -> None:
        """Raises DamageError for the first header since the last call whose checksum is wrong."""
        offsets = [offset for offset, _ in self._unverified]
        blocks = np.frombuffer(b"".join(block for _, block in self._unverified), np.uint8).reshape(-1, BLOCKSIZE)
        self._unverified = []
        # The field itself counts as eight spaces.
        sums = blocks.sum(axis=1, dtype=np.int64) - blocks[:, CHECKSUM].sum(axis=1, dtype=np.int64) + 8 * ord(" ")
        for offset, block, actual in zip(offsets, blocks[:, CHECKSUM], sums.tolist(), strict=True):
            if _octal(block.tobytes()) != actual:
                raise DamageError(
                    "is no tar: it has no header at byte 0" if offset == 0 else f"has a damaged header at byte {offset}"
                )

    def _told(self, kind: bytes, offset: int, size: int) -> dict[bytes, bytes]:
        """What an extension says of the next member: its path, its size, or that it is sparse."""
        if kind not in {XHDTYPE, GNUTYPE_LONGNAME}:
            return {}
        content = self._read(offset + BLOCKSIZE, size)
        if kind == GNUTYPE_LONGNAME:
            return {b"path": content.rstrip(b"\0")}
        try:
            return _records(content)
        except ValueError:
            raise DamageError(f"has a damaged pax header at byte {offset}") from None

    def _check_end(self, offset: int) -> None:
        """Two blocks of zeros, and nothing but zeros after them."""
        if self._length < offset + 2 * BLOCKSIZE:
            raise DamageError(f"ends at byte {self._length}, before its end-of-archive mark")
        while rest := os.pread(self._descriptor, WINDOW_BYTES, offset):
            if rest.count(0) != len(rest):
                raise DamageError(f"goes on after its end-of-archive mark at byte {offset}, where readers stop")
            offset += len(rest)


def _next(start: int, size: int) -> int:
    return start + -(-size // BLOCKSIZE) * BLOCKSIZE


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    return header[345:500].partition(b"\0")[0] + b"/" + name if header[345] else name


def _size(header: bytes, offset: int) -> int:
    field = header[124:136]
    # GNU writes 8 GiB and more in base 256.
    size = int.from_bytes(field[1:], "big") if field[0] == 0x80 else _octal(field)
    if size is None:
        raise DamageError(f"has a damaged header at byte {offset}")
    return size


def _octal(field: bytes) -> int | None:
    """None: it is no number."""
    try:
        return int(field.partition(b"\0")[0] or b"0", 8)
    except ValueError:
        return None


def _records(content: bytes) -> dict[bytes, bytes]:
    """Of a pax header, each `LENGTH KEY=VALUE` and a newline. Raises ValueError."""
    found = {}
    content = content.rstrip(b"\0")
    while content:
        length = content.partition(b" ")[0]
        record, content = content[: int(length)], content[int(length) :]
        key, _, value = record[len(length) + 1 : -1].partition(b"=")
        if not (length.isdigit() and record.endswith(b"\n") and (key != b"size" or value.isdigit())):
            raise ValueError
        found[b"sparse" if key.startswith(b"GNU.sparse.") else key] = value
    return found


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
