"""The batches of a training on shards that are read one after the other: plain webdataset, for data too large to stage.

The shards are those that `SPLIT.json` lists, webdataset's own index of shards (`widsindex create`), by their addresses
or by paths in its folder; without one, the split's shards in the folder.
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error, data_error
from argosy.steps.shards.dataset import Sample
from argosy.steps.shards.indexing import index
from argosy.steps.task import Task
from argosy.steps.train.data import remote
from argosy.steps.train.data.batch import Batch
from argosy.steps.train.data.feed import Feed
from argosy.steps.train.data.order import permutation
from argosy.steps.train.data.reading import Part, decoded
from argosy.steps.train.data.seeding import mixed

SHUFFLED = 512
"""Samples that are held in memory, for one of them to be drawn next."""


class Stream(Feed):
    """A rank's part of every step. A resume is approximate: some samples of its epoch come twice, some not at all."""

    def __init__(
        self,
        task: Task,
        folder: Path,
        split: str,
        *,
        batch_size: int,
        epochs: int,
        seed: int,
        rank: int,
        size: int,
        workers: int,
    ) -> None:
        """`batch_size` is that of all ranks together.

        Raises StepError: DATA for shards that are not listed as they should be, CONFIGURATION for more readers than
        shards.
        """
        shards, samples = listed(folder, split)
        readers = size * max(workers, 1)
        if readers > len(shards):
            raise configuration_error(
                f"{folder}: {split} has {len(shards)} shards, fewer than the {readers} that read at once (ranks times "
                "loader workers); make more shards, or use fewer workers"
            )
        per_epoch = -(-samples // batch_size)
        reading = _Reading(task, shards, batch_size=batch_size, per_epoch=per_epoch, seed=seed, rank=rank, size=size)
        super().__init__(reading, total=per_epoch * epochs, per_epoch=per_epoch, workers=workers)
        self._is_first_rank = rank == 0

    def batches(self, first_step: int) -> Iterator[Batch]:
        """From about this step to the end of the training. Raises as Feed.batches does."""
        if first_step and self._is_first_rank:
            sys.stderr.write(
                f"streaming goes on at about step {first_step:,}: some samples of this epoch come again, others not "
                "at all; only staged data goes on exactly\n"
            )
        return super().batches(first_step)


def listed(folder: Path, split: str) -> tuple[list[str], int]:
    """The shards' addresses or paths, and how many samples they hold. Raises StepError (DATA)."""
    listing = folder / f"{split}.json"
    if not listing.exists():
        dataset = index(folder, split)
        return [str(shard) for shard in dataset.shards], len(dataset)
    try:
        shards = json.loads(listing.read_bytes())["shardlist"]
        return [_place(folder, shard["url"]) for shard in shards], sum(int(shard["nsamples"]) for shard in shards)
    except (ValueError, LookupError, TypeError) as error:
        raise data_error(
            f"{listing}: is no index of shards ({type(error).__name__}: {error}); write it with `widsindex create`"
        ) from None


def _place(folder: Path, url: str) -> str:
    return url if "://" in url else str(folder / url)


class _Reading:
    """Endless samples: pass after pass over a reader's own shards, in an order of each pass."""

    def __init__(
        self, task: Task, shards: Sequence[str], *, batch_size: int, per_epoch: int, seed: int, rank: int, size: int
    ) -> None:
        self._task, self._shards, self._batch_size, self._per_epoch = task, shards, batch_size, per_epoch
        self._seed, self._rank, self._size = seed, rank, size

    def parts(self, steps: range) -> Iterator[Part]:
        workers, worker = steps.step, steps.start % steps.step
        samples = self._samples(self._rank * workers + worker, self._size * workers, steps.start)
        mine = len(range(self._rank, self._batch_size, self._size))
        for step in steps:
            taken = list(islice(samples, max(mine, 1)))
            seeds = [(self._seed, step, sample.shard, sample.key) for sample in taken]
            yield Part(taken, seeds, self._batch_size, mine * self._size / self._batch_size)

    def batch(self, part: Part) -> Batch:
        return decoded(self._task, part)

    def _samples(self, reader: int, readers: int, first_step: int) -> Iterator[Sample]:
        from webdataset.filters import shuffle

        draws = random.Random(mixed(self._seed, "stream", reader, first_step))  # noqa: S311 - an order, no secret
        samples: Iterator[Sample] = shuffle(SHUFFLED, initial=SHUFFLED, rng=draws)(
            sample for shard in self._in_order(reader, readers, first_step) for sample in _of_shard(shard)
        )
        return samples

    def _in_order(self, reader: int, readers: int, first_step: int) -> Iterator[str]:
        """A reader's shards from about this step on."""
        first, within = divmod(first_step, self._per_epoch)
        for number in count(first):
            mine = permutation(len(self._shards), mixed(self._seed, "shards", number))[reader::readers].tolist()
            passed = len(mine) * within // self._per_epoch if number == first else 0
            yield from (self._shards[shard] for shard in mine[passed:])


def _of_shard(shard: str) -> Iterator[Sample]:
    """As webdataset reads it. Raises StepError: DATA for an unsound shard, TEMPORARY for one that cannot be read."""
    from tarfile import TarError

    from webdataset.tariterators import group_by_keys, tar_file_expander

    try:
        with remote.opened(shard) as stream:
            fields: dict[str, Any]
            for fields in group_by_keys(tar_file_expander([{"url": shard, "stream": stream}])):
                members = {name: content for name, content in fields.items() if not name.startswith("__")}
                yield Sample(shard, fields["__key__"], members)
    except (TarError, ValueError) as error:
        raise data_error(f"{shard}: {error.args[0]}; write this shard anew") from None
    except FileNotFoundError:
        raise data_error(f"{shard}: is not there, although the index of shards names it") from None
    except OSError as error:
        raise StepError(ExitCode.TEMPORARY, f"{shard}: cannot be read: {error}") from None
