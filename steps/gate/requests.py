"""Requests as a server would meet them: batches of real samples from the test split, over and over."""

from collections.abc import Iterator
from itertools import cycle

import torch
from torch import Tensor

from argosy.steps import staged
from argosy.steps.gate.exported import Exported
from argosy.steps.gate.split import JudgedSplit
from argosy.steps.gates import GateInput

DISTINCT_SAMPLES = 1024
"""More would fill memory, which is being measured, and tell nothing new. They are a random part of the split."""


def requests(model: Exported, inputs: GateInput, batch_size: int) -> Iterator[Tensor]:
    """Batches without end, each full. Raises StepError (DATA) when the split has no samples."""
    with staged.data(inputs) as folder:
        distinct = JudgedSplit(model.task, folder, inputs.dataset_hash, "test").first(DISTINCT_SAMPLES)
    return cycle(batches(distinct.inputs, batch_size))


def batches(inputs: Tensor, size: int) -> list[Tensor]:
    """All samples in batches of this size; the last is filled up from the front."""
    indices = torch.arange(-(-len(inputs) // size) * size) % len(inputs)
    return [inputs[part] for part in torch.split(indices, size)]
