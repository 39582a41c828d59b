"""The samples that a model is judged by, each once over all ranks."""

from collections.abc import Iterator

from torch import Tensor

from argosy.steps.shards.dataset import Dataset
from argosy.steps.task import Task
from argosy.steps.train.data import decoding
from argosy.steps.train.data.ahead import Ahead
from argosy.steps.train.data.seeding import kept_generators


def rounds(dataset: Dataset, size: int, batch_size: int) -> int:
    """The most batches that any rank gets."""
    return len(range(0, len(range(0, len(dataset), size)), batch_size))


def evaluation(task: Task, dataset: Dataset, rank: int, size: int, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs and targets of this rank's samples, so many at a time. What a task draws for a sample is always the same.

    Ranks can differ by one in how many batches they get, see `rounds`. Raises StepError as samples.load does.
    """
    mine = range(rank, len(dataset), size)
    parts = (mine[begin : begin + batch_size] for begin in range(0, len(mine), batch_size))
    with Ahead((part, dataset.samples(part)) for part in parts) as ready:
        for part, taken in ready:
            with kept_generators():
                whole = decoding.tensors(task, taken, [("evaluation", number) for number in part])
            yield whole.inputs, whole.targets
