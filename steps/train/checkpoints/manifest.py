"""What a checkpoint consists of. It counts from the moment that its manifest stands in its place.

Each rank that has something to write writes one part: its boxes of tensors, then its frame (see `state`). A part is
hashed in blocks, so that a rank reads, and compares, only those that it needs.
"""

import hashlib
import math
from typing import Annotated, Self

import torch
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from argosy.steps.base import Contract, Md5
from argosy.steps.stage.failures import Wrong

BLOCK = 8 << 20
"""Bytes. A store that takes 4 MB/s lets eight of them through within the 15 s after which a request is given up."""

Count = Annotated[int, Field(ge=0)]
Shape = tuple[Count, ...]


class Box(Contract):
    """A box of a tensor, row after row, from byte `start` of a part."""

    offsets: Shape
    sizes: Shape
    part: Count
    start: Count


class StoredTensor(Contract):
    dtype: str = Field(description="as torch names it, without `torch.`")
    shape: Shape
    boxes: tuple[Box, ...] = Field(description="each element of the tensor is in one of them")

    @property
    def torch_dtype(self) -> torch.dtype:
        """Raises ValueError where torch has none of this name."""
        found = getattr(torch, self.dtype, None)
        if not isinstance(found, torch.dtype):
            raise ValueError(f"torch has no dtype {self.dtype}")  # noqa: TRY004 - the one that pydantic explains
        return found

    @property
    def spans(self) -> "list[Span]":
        """Where its boxes lie."""
        size = self.torch_dtype.itemsize
        return [Span(part=box.part, start=box.start, bytes=math.prod(box.sizes) * size) for box in self.boxes]

    @model_validator(mode="after")
    def _is_covered(self) -> Self:
        rank = len(self.shape)
        for box in self.boxes:
            ends = [offset + size for offset, size in zip(box.offsets, box.sizes, strict=False)]
            if not len(box.offsets) == len(box.sizes) == rank or any(map(int.__gt__, ends, self.shape)):
                raise ValueError("a box lies outside of its tensor")
        if sum(math.prod(box.sizes) for box in self.boxes) != math.prod(self.shape):
            raise ValueError("the boxes of a tensor do not fill it")
        return self


class Span(Contract):
    """Bytes of a part."""

    part: Count
    start: Count
    bytes: Count


class Part(Contract):
    bytes: Count
    sha256: tuple[Annotated[str, Field(pattern="^[0-9a-f]{64}$")], ...] = Field(description="of each block")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(self.sha256) != -(-self.bytes // BLOCK):
            raise ValueError("a part has another number of blocks")
        return self

    def block_bytes(self, block: int) -> int:
        return min(BLOCK, self.bytes - block * BLOCK)

    def require(self, block: int, content: memoryview) -> None:
        """Raises Wrong where these are not the bytes that were written."""
        if len(content) != self.block_bytes(block) or hashlib.sha256(content).hexdigest() != self.sha256[block]:
            raise Wrong(f"bytes {block * BLOCK:,} to {block * BLOCK + self.block_bytes(block):,} are not as written")


class Manifest(Contract):
    step: Count
    dataset_hash: Md5
    ranks: int = Field(ge=1, description="ranks that have written it")
    metric: FiniteFloat | None = Field(description="the greater the better; none: nobody measured")
    tensors: dict[str, StoredTensor]
    frames: tuple[Span, ...] = Field(min_length=1)
    parts: dict[Count, Part] = Field(description="rank -> what it has written")

    @model_validator(mode="after")
    def _is_within_parts(self) -> Self:
        for span in (*self.frames, *(span for tensor in self.tensors.values() for span in tensor.spans)):
            if span.part not in self.parts or span.start + span.bytes > self.parts[span.part].bytes:
                raise ValueError("something lies outside of its part")
        return self

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Raises Wrong for what `written` did not write."""
        content = text[len(_BEFORE) : max(0, len(text) - len(_AFTER))]
        try:
            manifest = cls.model_validate_json(content)
        except ValidationError as error:
            raise Wrong(f"its manifest is none: {error.errors()[0]['msg']}") from None
        if text != _sealed(content):
            raise Wrong("its manifest is not as written")
        return manifest

    def written(self) -> bytes:
        """JSON, with its own sha256."""
        return _sealed(self.model_dump_json().encode())


_BEFORE, _AFTER = b'{"manifest":', b',"sha256":"%064x"}\n' % 0


def _sealed(content: bytes) -> bytes:
    return b'%b%b,"sha256":"%b"}\n' % (_BEFORE, content, hashlib.sha256(content).hexdigest().encode())
