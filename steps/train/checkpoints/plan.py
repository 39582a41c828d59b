"""Who writes what, and where it lies: torch.distributed.checkpoint's own planners decide.

What several ranks have, such as a replicated tensor, is written by one of them: the one with the least to write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner, create_default_local_save_plan
from torch.distributed.checkpoint.metadata import MetadataIndex
from torch.distributed.checkpoint.planner import SavePlan, WriteItem
from torch.distributed.tensor import DTensor

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints.manifest import Box, StoredTensor
from argosy.steps.train.checkpoints.ranks import Ranks
from argosy.steps.train.checkpoints.state import Taken

ALIGNMENT = 64
"""Bytes; torch views bytes as numbers where these begin at a multiple of their size."""

Kind = tuple[object, ...]


@dataclass(frozen=True)
class Plan:
    """One rank's plan."""

    mine: tuple[tuple[MetadataIndex, int], ...]
    """What this rank writes, and at which byte of its part."""
    bytes: int
    """Of these, before the frame."""
    tells: bool
    """Whether this rank writes its frame: it has entries that no rank before it has."""
    tensors: Mapping[str, StoredTensor]
    """Of all ranks."""


class Planning:
    """Plans anew when the kind of state has changed on any rank."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._kind: Kind = ()
        self._plan: Plan | None = None

    def plan(self, taken: Taken) -> Plan:
        """Collective. Raises StepError (CODE) where ranks have tensors of one name that do not fit together."""
        kind = _kind(taken)
        if self._plan is None or not all(self._ranks.gathered(kind == self._kind)):
            self._plan = _planned(taken, self._ranks)
            self._kind = kind
        return self._plan


def _kind(taken: Taken) -> Kind:
    return (
        frozenset(taken.entries),
        tuple((name, tensor.shape, tensor.dtype, *_layout(tensor)) for name, tensor in taken.tensors.items()),
    )


def _layout(tensor: Tensor) -> Kind:
    return (tensor.placements, tensor.device_mesh) if isinstance(tensor, DTensor) else ()


def _planned(taken: Taken, ranks: Ranks) -> Plan:
    local = create_default_local_save_plan(taken.tensors, ranks.is_first).items
    of_all = ranks.gathered((local, taken.entries))
    _require_one_shape([items for items, _ in of_all])
    # Every rank plans for all, and comes to the same: nothing needs to be sent back.
    plans, _ = DefaultSavePlanner(flatten_state_dict=False).create_global_plan([SavePlan(items) for items, _ in of_all])
    starts = [_starts(plan.items) for plan in plans]
    known: set[str] = set()
    tells = []
    for _, entries in of_all:
        tells.append(not known or not entries <= known)
        known |= entries
    mine, size = starts[ranks.rank]
    return Plan(
        mine=tuple((item.index, start) for item, start in zip(plans[ranks.rank].items, mine, strict=True)),
        bytes=size,
        tells=tells[ranks.rank],
        tensors=_stored(plans, [each for each, _ in starts]),
    )


def _starts(items: Sequence[WriteItem]) -> tuple[list[int], int]:
    """Where each begins, and where the last ends."""
    starts, end = [], 0
    for item in items:
        starts.append(end)
        assert item.tensor_data is not None
        length = item.tensor_data.chunk.sizes.numel() * item.tensor_data.properties.dtype.itemsize
        end += -(-length // ALIGNMENT) * ALIGNMENT
    return starts, end


def _stored(plans: Sequence[SavePlan], starts: Sequence[Sequence[int]]) -> dict[str, StoredTensor]:
    tensors: dict[str, tuple[torch.dtype, torch.Size, list[Box]]] = {}
    for part, plan in enumerate(plans):
        for item, start in zip(plan.items, starts[part], strict=True):
            data = item.tensor_data
            assert data is not None
            box = Box(offsets=tuple(data.chunk.offsets), sizes=tuple(data.chunk.sizes), part=part, start=start)
            tensors.setdefault(item.index.fqn, (data.properties.dtype, data.size, []))[2].append(box)
    return {
        name: StoredTensor(dtype=str(dtype).removeprefix("torch."), shape=tuple(shape), boxes=tuple(boxes))
        for name, (dtype, shape, boxes) in tensors.items()
    }


def _require_one_shape(of_ranks: Sequence[Sequence[WriteItem]]) -> None:
    """The planners would take the shape of whichever rank writes."""
    seen: dict[str, tuple[int, object]] = {}
    for rank, items in enumerate(of_ranks):
        for item in items:
            data = item.tensor_data
            assert data is not None
            form = (tuple(data.size), data.properties.dtype)
            first, before = seen.setdefault(item.index.fqn, (rank, form))
            if form != before:
                raise StepError(
                    ExitCode.CODE,
                    f"checkpoint: {item.index.fqn} is {before} on rank {first} and {form} on rank {rank}; "
                    "give each rank's own state a name with the rank in it",
                )
