"""A split's samples in the order in which they are judged, with what they belong to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from argosy.steps import samples, task
from argosy.steps.base import Split
from argosy.steps.gate import order
from argosy.steps.samples import Samples
from argosy.steps.shards.dataset import Sample
from argosy.steps.shards.indexing import index
from argosy.steps.task import Task

BATCH = 256


@dataclass(frozen=True)
class Batch:
    samples: Samples
    labels: tuple[tuple[str, ...], ...]
    """For each of the labels that were asked for, that of each sample."""


class JudgedSplit:
    """Raises StepError (DATA) for a split that is missing, empty or damaged."""

    def __init__(self, task: Task, folder: Path, dataset_hash: str, split: Split, labels: Sequence[str] = ()) -> None:
        self.task = task
        self._labels = tuple(labels)
        self._dataset = index(folder, split)
        self._order = order.permutation(dataset_hash, split, len(self._dataset)).tolist()

    def __len__(self) -> int:
        return len(self._order)

    def batches(self, first: int, end: int) -> Iterator[Batch]:
        """The samples from this place of the order up to that one. Raises StepError as `samples` and `task` do."""
        for begin in range(first, end, BATCH):
            read = self._read(begin, min(begin + BATCH, end))
            labels = tuple(tuple(task.label(self.task, one.members, name) for one in read) for name in self._labels)
            yield Batch(self._decoded(read), labels)

    def first(self, count: int | None) -> Samples:
        """So many of the samples, or all, in memory. Raises StepError as `batches` does."""
        return self._decoded(self._read(0, count))

    def _read(self, first: int, end: int | None) -> list[Sample]:
        return self._dataset.samples(self._order[first:end])

    def _decoded(self, read: list[Sample]) -> Samples:
        return samples.stacked(read, [samples.decoded(self.task, one) for one in read])
