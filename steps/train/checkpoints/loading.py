"""What a rank needs of a checkpoint, read and compared with its hashes. At any number of ranks, and nothing else is.

The planners of torch.distributed.checkpoint say which boxes hold what this rank has; no byte is ever unpickled.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter

import torch
from torch import Tensor
from torch.distributed._shard._utils import narrow_tensor_by_index
from torch.distributed.checkpoint.default_planner import create_default_local_load_plan
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import ReadItem
from torch.distributed.checkpoint.utils import find_tensor_shard
from torch.distributed.tensor import DTensor

from argosy.steps.stage.failures import Wrong
from argosy.steps.train.checkpoints.manifest import BLOCK, Box, Manifest, Part, StoredTensor
from argosy.steps.train.checkpoints.state import Frame, united
from argosy.steps.train.checkpoints.store import Store

AT_A_TIME = 256 << 20
"""Bytes read before they are put in their places, where these are not in one piece."""


@dataclass
class Piece:
    """Bytes of a part, and where they go."""

    part: int
    start: int
    content: memoryview

    @property
    def end(self) -> int:
        return self.start + len(self.content)


@dataclass
class Loaded:
    """What was read: nothing that the training has was changed."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    """Whole, in host memory; and the distributed ones that the training has."""
    shards: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    """A distributed tensor's own memory, and what goes there."""

    def put_in_place(self) -> None:
        with torch.no_grad():
            for own, read in self.shards:
                own.copy_(read)


def frame(store: Store, name: str, manifest: Manifest) -> Frame:
    """What is no tensor. Raises ObjectFailure."""
    contents = [bytearray(span.bytes) for span in manifest.frames]
    pieces = [
        Piece(span.part, span.start, memoryview(content))
        for span, content in zip(manifest.frames, contents, strict=True)
    ]
    _read(store, name, manifest, pieces)
    try:
        return united([json.loads(content) for content in contents])
    except (ValueError, TypeError, RecursionError):
        raise Wrong("what stands beside its tensors is no JSON") from None


def tensors(
    store: Store, name: str, manifest: Manifest, wanted: Iterable[str], present: Mapping[str, Tensor]
) -> Loaded:
    """These tensors: of a distributed one that is present this rank's shard, of any other all.

    Raises ObjectFailure, and ValueError for one whose size is another than that of the present one.
    """
    loaded = Loaded()
    metadata = Metadata({each: _metadata(manifest.tensors[each]) for each in wanted})
    targets: dict[tuple[str, torch.Size | None], Tensor] = {}
    for each in metadata.state_dict_metadata:
        own, stored = present.get(each), manifest.tensors[each]
        loaded.tensors[each] = own if isinstance(own, DTensor) else torch.empty(stored.shape, dtype=stored.torch_dtype)
    items = create_default_local_load_plan(loaded.tensors, metadata).items
    for item in items:
        index = item.dest_index
        if (index.fqn, index.offset) not in targets:
            targets[index.fqn, index.offset] = _target(loaded, index, manifest.tensors[index.fqn])
    _fill(store, name, manifest, items, targets)
    return loaded


def _target(loaded: Loaded, index: MetadataIndex, stored: StoredTensor) -> Tensor:
    """Host memory for one box of what this rank has."""
    tensor = loaded.tensors[index.fqn]
    if not isinstance(tensor, DTensor):
        return tensor
    own = find_tensor_shard(tensor, index)
    loaded.shards.append((own, torch.empty(own.shape, dtype=stored.torch_dtype)))
    return loaded.shards[-1][1]


@dataclass
class Move:
    """What a planner wants read: a piece of a box, into a box of a target."""

    piece: Piece
    target: Tensor
    strides: tuple[int, ...]
    """Of the piece's elements, where these are not the target's own memory; empty: they are."""

    def finish(self) -> None:
        if self.strides:
            read = torch.frombuffer(self.piece.content, dtype=self.target.dtype)
            self.target.copy_(read.as_strided(self.target.shape, self.strides))


def _fill(
    store: Store,
    name: str,
    manifest: Manifest,
    items: Sequence[ReadItem],
    targets: Mapping[tuple[str, torch.Size | None], Tensor],
) -> None:
    wanted = [item for item in items if item.lengths.numel()]
    for batch in _batches(sorted((_at(item, manifest), number) for number, item in enumerate(wanted))):
        chosen = [wanted[number] for number in batch]
        moves = [_move(item, manifest, targets[item.dest_index.fqn, item.dest_index.offset]) for item in chosen]
        _read(store, name, manifest, [move.piece for move in moves])
        for move in moves:
            move.finish()


def _batches(places: Sequence[tuple[tuple[int, int], int]]) -> Iterator[list[int]]:
    for _, batch in groupby(places, key=lambda place: (place[0][0], place[0][1] // AT_A_TIME)):
        yield [number for _, number in batch]


def _box(item: ReadItem, manifest: Manifest) -> Box:
    index = item.storage_index
    assert index.index is not None
    return manifest.tensors[index.fqn].boxes[index.index]


def _at(item: ReadItem, manifest: Manifest) -> tuple[int, int]:
    box = _box(item, manifest)
    return box.part, box.start


def _move(item: ReadItem, manifest: Manifest, target: Tensor) -> Move:
    box = _box(item, manifest)
    place = narrow_tensor_by_index(target, item.dest_offsets, item.lengths)
    strides = _strides(box.sizes)
    first = sum(offset * stride for offset, stride in zip(item.storage_offsets, strides, strict=True))
    count = 1 + sum((length - 1) * stride for length, stride in zip(item.lengths, strides, strict=True))
    size = place.dtype.itemsize
    start = box.start + first * size
    if place.is_contiguous() and place.numel() == count:
        own = place.view(-1).view(torch.uint8).numpy().data
        return Move(Piece(box.part, start, own), place, ())
    return Move(Piece(box.part, start, memoryview(bytearray(count * size))), place, strides)


def _strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Of elements that lie row after row."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides))[: len(sizes)]


def _read(store: Store, name: str, manifest: Manifest, pieces: Iterable[Piece]) -> None:
    for part, of_part in groupby(sorted(pieces, key=attrgetter("part", "start")), key=attrgetter("part")):
        of_block: dict[int, list[Piece]] = {}
        for piece in of_part:
            for block in range(piece.start // BLOCK, -(-piece.end // BLOCK)):
                of_block.setdefault(block, []).append(piece)
        store.read(name, part, list(of_block), partial(_use, manifest.parts[part], of_block))


def _use(part: Part, of_block: Mapping[int, Sequence[Piece]], block: int, content: memoryview) -> None:
    """A block that was read: what of it is wanted."""
    part.require(block, content)
    for piece in of_block[block]:
        _copy(content, block * BLOCK, piece)


def _copy(content: memoryview, start: int, piece: Piece) -> None:
    begin, end = max(start, piece.start), min(start + len(content), piece.end)
    piece.content[begin - piece.start : end - piece.start] = content[begin - start : end - start]


def _metadata(stored: StoredTensor) -> TensorStorageMetadata:
    boxes = [ChunkStorageMetadata(torch.Size(box.offsets), torch.Size(box.sizes)) for box in stored.boxes]
    return TensorStorageMetadata(TensorProperties(dtype=stored.torch_dtype), torch.Size(stored.shape), boxes)
