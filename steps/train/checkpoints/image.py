"""A part of a checkpoint in host memory, as it will be written."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor
from torch.distributed.checkpoint.utils import find_tensor_shard

from argosy.steps.train.checkpoints.plan import Plan
from argosy.steps.train.checkpoints.state import Taken

ROOM = 1 << 20
"""Bytes by which the memory is larger than it needs to be: frames grow and shrink from step to step."""
PIECE = 16 << 20
"""Bytes that a thread copies at a time."""
COPIERS = min(4, os.cpu_count() or 1)
"""Threads of our own. Those of torch wait for one another, which takes 5 times as long where processors are busy."""

Copy = tuple["np.ndarray[tuple[int], np.dtype[np.uint8]]", "np.ndarray[tuple[int], np.dtype[np.uint8]]"]
"""Where to, and where from."""


class Image:
    """Memory that every save uses again, and that a GPU writes to at its full speed."""

    def __init__(self, *, pinned: bool) -> None:
        self._pinned = pinned
        self._memory = torch.empty(0, dtype=torch.uint8)
        self._copiers = ThreadPoolExecutor(COPIERS, "checkpoint-copies")

    def taken(self, plan: Plan, state: Taken) -> memoryview:
        """A rank's part of a state: its boxes of tensors, then its frame. The state may change from then on."""
        frame = json.dumps(state.frame, allow_nan=False).encode() if plan.tells else b""
        self._make_room(plan.bytes + len(frame))
        for _ in self._copiers.map(lambda copy: np.copyto(*copy), self._begun(plan, state)):
            pass
        content = self._memory.numpy().data[: plan.bytes + len(frame)]
        content[plan.bytes :] = frame
        if self._pinned:
            torch.cuda.current_stream().synchronize()
        return content

    def _begun(self, plan: Plan, state: Taken) -> Iterator[Copy]:
        """The copies that threads can make; torch has made or begun the others."""
        for index, start in plan.mine:
            source = find_tensor_shard(state.tensors[index.fqn], index)
            target = self._memory[start : start + source.numel() * source.itemsize]
            if _is_plain(source):
                yield from zip(_pieces(target), _pieces(source.view(-1).view(torch.uint8)), strict=True)
            else:
                target.view(source.dtype).view(source.shape).copy_(source, non_blocking=self._pinned)

    def _make_room(self, count: int) -> None:
        if self._memory.numel() < count:
            self._memory = torch.empty(count + ROOM, dtype=torch.uint8, pin_memory=self._pinned)


def _is_plain(tensor: Tensor) -> bool:
    """Whether its memory is its values, one after the other."""
    is_as_read = tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()
    return tensor.device.type == "cpu" and is_as_read


def _pieces(memory: Tensor) -> "Iterator[np.ndarray[tuple[int], np.dtype[np.uint8]]]":
    whole = memory.numpy()
    for start in range(0, len(whole), PIECE):
        yield whole[start : start + PIECE]
