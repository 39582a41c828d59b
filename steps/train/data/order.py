"""Which samples a step sees: a function of seed, epoch and step alone, whatever the number of ranks."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from argosy.steps.train.data.seeding import mixed

SHARDS_PER_BLOCK = 16
"""Shards whose samples are shuffled together: reads stay local, and the page cache need hold no more than these."""


class Position(NamedTuple):
    epoch: int
    samples: NDArray[np.int64]
    """Of all ranks together."""


class Order:
    """Each epoch takes the shards in an order of its own, block by block, and the samples of a block in any order."""

    def __init__(self, shard_lengths: NDArray[np.int64], *, batch_size: int, epochs: int, seed: int) -> None:
        self._lengths, self._batch_size, self._seed = shard_lengths, batch_size, seed
        self._count = int(shard_lengths.sum())
        self.per_epoch = -(-self._count // batch_size)
        self.total = self.per_epoch * epochs
        self._epoch = _Epoch(shard_lengths, seed, 0)

    def at(self, step: int) -> Position:
        """The samples of step 0, 1, ...; the last batch of an epoch may be smaller."""
        epoch, batch = divmod(step, self.per_epoch)
        if epoch != self._epoch.number:
            self._epoch = _Epoch(self._lengths, self._seed, epoch)
        begin = batch * self._batch_size
        return Position(epoch, self._epoch.samples(begin, min(begin + self._batch_size, self._count)))


class _Epoch:
    def __init__(self, lengths: NDArray[np.int64], seed: int, number: int) -> None:
        self.number = number
        self._lengths, self._seed = lengths, seed
        self._firsts = np.cumsum(lengths) - lengths
        shards = permutation(len(lengths), mixed(seed, "shards", number))
        self._blocks = [shards[begin : begin + SHARDS_PER_BLOCK] for begin in range(0, len(shards), SHARDS_PER_BLOCK)]
        self._bounds = np.cumsum([0, *(lengths[block].sum() for block in self._blocks)])
        self._block, self._shuffled = -1, np.empty(0, np.int64)

    def samples(self, begin: int, end: int) -> NDArray[np.int64]:
        """From this place of the epoch to that."""
        first = int(np.searchsorted(self._bounds, begin, "right")) - 1
        parts = []
        for block, (lower, upper) in enumerate(pairwise(self._bounds[first:].tolist()), first):
            if lower >= end:
                break
            parts.append(self._of_block(block)[max(begin - lower, 0) : min(end, upper) - lower])
        return np.concatenate(parts)

    def _of_block(self, block: int) -> NDArray[np.int64]:
        if block != self._block:
            shards = self._blocks[block]
            ordered = np.concatenate([self._firsts[shard] + np.arange(self._lengths[shard]) for shard in shards])
            shuffled = permutation(len(ordered), mixed(self._seed, "samples", self.number, block))
            self._block, self._shuffled = block, ordered[shuffled]
        return self._shuffled


def permutation(count: int, key: int) -> NDArray[np.int64]:
    """0 .. count - 1 in an order that depends on the key alone: no library's generator, whose stream may change.

    SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), and a stable sort.
    """
    z = np.uint64(key) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(z ^ (z >> np.uint64(31)), kind="stable")
