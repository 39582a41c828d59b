"""The batches of a training on an indexed split."""

from argosy.steps.shards.dataset import Dataset
from argosy.steps.task import Task
from argosy.steps.train.data.feed import Feed
from argosy.steps.train.data.order import Order
from argosy.steps.train.data.reading import Reading


class Loader(Feed):
    """A rank's part of every step, the same whatever the attempt, the number of workers, and what was read before.

    At any number of ranks their parts together are the same samples.
    """

    def __init__(
        self,
        task: Task,
        dataset: Dataset,
        *,
        batch_size: int,
        epochs: int,
        seed: int,
        rank: int,
        size: int,
        workers: int,
    ) -> None:
        """`batch_size` is that of all ranks together."""
        order = Order(dataset.shard_lengths, batch_size=batch_size, epochs=epochs, seed=seed)
        reading = Reading(task, dataset, order, seed=seed, rank=rank, size=size)
        super().__init__(reading, total=order.total, per_epoch=order.per_epoch, workers=workers)
