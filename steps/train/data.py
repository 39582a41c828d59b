"""Which samples a step sees.

The order of an epoch depends on the seed and the epoch alone, and a step takes the next `batch_size` of it, whatever
the number of ranks: the position in the data is one integer, the step, and a resumed training sees what it had not.
"""

import hashlib
import random

import numpy as np
import torch
from torch import Tensor


class Batches:
    """The global batches of a whole training."""

    def __init__(self, samples: int, batch_size: int, epochs: int, seed: int) -> None:
        self.samples = samples
        self.batch_size = batch_size
        self.per_epoch = -(-samples // batch_size)
        self.total = self.per_epoch * epochs
        self._seed = seed
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.long)

    def at(self, step: int) -> Tensor:
        """Indices of the samples of step 0, 1, ...; the last batch of an epoch may be smaller."""
        epoch, batch = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(mixed(self._seed, "order", epoch))
            self._epoch, self._order = epoch, torch.randperm(self.samples, generator=generator)
        return self._order[batch * self.batch_size : (batch + 1) * self.batch_size]

    def begins_epoch(self, step: int) -> bool:
        return step % self.per_epoch == 0


def seed_generators(*parts: object) -> None:
    """Seeds every generator that a task may draw from. Done at each step, it leaves no state worth keeping."""
    seed = mixed(*parts)
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the global generator is what users' augmentations draw from


def mixed(*parts: object) -> int:
    """63 bits that differ wherever any part does."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
