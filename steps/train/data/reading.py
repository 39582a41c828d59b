"""From steps to their batches: a rank's part of each, first as bytes and then as tensors."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from argosy.steps.shards.dataset import Dataset, Sample
from argosy.steps.task import Task
from argosy.steps.train.data import decoding
from argosy.steps.train.data.batch import Batch
from argosy.steps.train.data.order import Order


class Part(NamedTuple):
    """What a rank has of a step, still as bytes."""

    taken: Sequence[Sample]
    seeds: Sequence[tuple[object, ...]]
    """Of each: what its augmentation depends on."""
    samples: int
    """Of all ranks together."""
    weight: float


class Source(Protocol):
    """A rank's part of steps. It can be sent to another process."""

    def parts(self, steps: range) -> Iterator[Part]:
        """A worker's steps, or all, in order. Raises StepError for what cannot be read."""

    def batch(self, part: Part) -> Batch:
        """Raises as decoding.tensors does."""


class Reading:
    """A rank's part of steps, out of an indexed split."""

    def __init__(self, task: Task, dataset: Dataset, order: Order, *, seed: int, rank: int, size: int) -> None:
        self._task, self._dataset, self._order = task, dataset, order
        self._seed, self._rank, self._size = seed, rank, size

    def parts(self, steps: range) -> Iterator[Part]:
        for step in steps:
            epoch, of_all = self._order.at(step)
            mine = of_all[self._rank :: self._size].tolist()
            numbers = mine or of_all[:1].tolist()
            yield Part(
                self._dataset.samples(numbers),
                [(self._seed, epoch, number) for number in numbers],
                len(of_all),
                len(mine) * self._size / len(of_all),
            )

    def batch(self, part: Part) -> Batch:
        return decoded(self._task, part)


def decoded(task: Task, part: Part) -> Batch:
    """Raises as decoding.tensors does."""
    whole = decoding.tensors(task, part.taken, part.seeds)
    return Batch(whole.inputs, whole.targets, part.samples, part.weight)
