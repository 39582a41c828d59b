"""Samples as tensors, with whatever a task draws for them."""

from collections.abc import Sequence

from argosy.steps import samples
from argosy.steps.samples import Samples
from argosy.steps.shards.dataset import Sample
from argosy.steps.task import Task
from argosy.steps.train.data.seeding import seed_sample


def tensors(task: Task, taken: Sequence[Sample], seeds: Sequence[tuple[object, ...]]) -> Samples:
    """The generators are seeded for each sample by its seeds: it is the same wherever it is read.

    Raises StepError as samples.decoded and samples.stacked do, and whatever the task raises.
    """
    pairs = []
    for sample, parts in zip(taken, seeds, strict=True):
        seed_sample(*parts)
        pairs.append(samples.decoded(task, sample))
    return samples.stacked(taken, pairs)
