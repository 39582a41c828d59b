"""A source's batches, made ahead."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing

from argosy.steps.train.data.ahead import Ahead
from argosy.steps.train.data.batch import Batch
from argosy.steps.train.data.reading import Source
from argosy.steps.train.data.seeding import kept_generators
from argosy.steps.train.data.workers import Workers


class Feed:
    """A rank's part of every step of a training.

    Without worker processes a thread reads ahead, and the thread that asks makes tensors of what was read, since a task
    draws from generators that a process has once.
    """

    def __init__(self, source: Source, *, total: int, per_epoch: int, workers: int) -> None:
        self.total, self.per_epoch = total, per_epoch
        """Steps."""
        self.waited = 0.0
        """Seconds that the caller has waited for batches."""
        self._source, self._workers = source, workers

    def batches(self, first_step: int) -> Iterator[Batch]:
        """From this step to the end of the training.

        Raises what the source raises, and StepError: CODE for a task that cannot be sent to workers, TEMPORARY when a
        worker has ended.
        """
        with closing(self._batches(range(first_step, self.total))) as batches:
            while True:
                asked = time.perf_counter()
                batch = next(batches, None)
                self.waited += time.perf_counter() - asked
                if batch is None:
                    return
                yield batch

    def _batches(self, steps: range) -> Generator[Batch]:
        return self._from_workers(steps) if self._workers else self._from_thread(steps)

    def _from_workers(self, steps: range) -> Generator[Batch]:
        with Workers(self._source, steps, self._workers) as workers, Ahead(workers, workers.kill) as ready:
            yield from ready

    def _from_thread(self, steps: range) -> Generator[Batch]:
        with Ahead(self._source.parts(steps)) as parts:
            for part in parts:
                with kept_generators():
                    batch = self._source.batch(part)
                yield batch
