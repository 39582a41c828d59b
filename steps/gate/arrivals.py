"""When requests arrive that know nothing of one another: a Poisson process, the same for every model."""

from collections.abc import Iterator

import numpy as np

BLOCK = 1024


def gaps(per_second: float, seed: int) -> Iterator[int]:
    """Nanoseconds from each arrival to the next, without end: exponentially distributed with mean 1 / rate."""
    generator = np.random.default_rng(seed)
    while True:
        yield from map(int, generator.exponential(1e9 / per_second, BLOCK))
