"""A split's samples as a task's tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from argosy.steps import usercode
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, data_error
from argosy.steps.shards.dataset import Sample
from argosy.steps.shards.indexing import index
from argosy.steps.task import Task


@dataclass(frozen=True)
class Samples:
    """Some of a split in memory: the first axis of both counts samples."""

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)


def read(folder: Path, split: str) -> list[Sample]:
    """Every sample of a split, in the order of its shards. Raises StepError (DATA) with all faults of the shards."""
    dataset = index(folder, split)
    return dataset.samples(range(len(dataset)))


def load(task: Task, folder: Path, split: str) -> Samples:
    """A split in memory. Raises StepError as `read` and `decoded` do."""
    every = read(folder, split)
    return stacked(every, [decoded(task, sample) for sample in every])


def decoded(task: Task, sample: Sample) -> tuple[Tensor, Tensor]:
    """What the task makes of a sample.

    Raises StepError: DATA that names the sample which the task refuses, CODE for what is no pair of tensors. Another
    error of the task's passes, with a note of the sample.
    """
    try:
        pair: object = task.sample(sample.members)
    except ValueError as error:
        listed = ", ".join(sorted(sample.members))
        dots = " (a key ends at its first dot)" if any("." in name for name in sample.members) else ""
        raise data_error(f"{sample.place}: {error}; its members are {listed}{dots}") from error
    except Exception as error:
        error.add_note(f"while reading sample {sample.key} of {sample.shard}")
        raise
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(one, Tensor) for one in pair)):
        gave = f"({', '.join(type(one).__name__ for one in pair)})" if isinstance(pair, tuple) else type(pair).__name__
        raise StepError(ExitCode.CODE, f"{usercode.place(task.sample)} gave {gave}; it must give two tensors")
    return pair


def stacked(samples: Sequence[Sample], pairs: Sequence[tuple[Tensor, Tensor]]) -> Samples:
    """The samples' tensors as one. Raises StepError (DATA) that names the first which differs in shape."""
    try:
        return Samples(torch.stack([pair[0] for pair in pairs]), torch.stack([pair[1] for pair in pairs]))
    except RuntimeError:
        shapes = [" and ".join(str(tuple(one.shape)) for one in pair) for pair in pairs]
        odd = next((number for number, shape in enumerate(shapes) if shape != shapes[0]), None)
        if odd is None:
            raise
        raise data_error(
            f"{samples[odd].place}: samples differ in shape: its input and target are {shapes[odd]}, those of sample "
            f"{samples[0].key} {shapes[0]}; the task must give one shape"
        ) from None
