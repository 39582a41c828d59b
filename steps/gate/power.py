"""How probable it is that a model of known quality passes a gate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, ndtr, ndtri

from argosy.steps.gate import bootstrap, looks

SIMULATED = 10_000
SIMULATED_CLUSTERED = 400
"""The power is then known to about two in a hundred."""
MOST_CLUSTERS = 400
"""Of more a normal approximation is as good."""
SEED = 0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clusters:
    size: float
    """Samples of each, on average."""
    correlation: float
    """Of the scores within each."""

    def drawn(self, count: int, expected: float, rng: np.random.Generator) -> Floats:
        """How probable it is in each of so many that a sample is right: beta distributed about what is expected."""
        if self.correlation == 0:
            return np.full(count, expected)
        if self.correlation == 1 or expected in {0, 1}:
            return (rng.random(count) < expected).astype(np.float64)
        alike = (1 - self.correlation) / self.correlation
        return rng.beta(expected * alike, (1 - expected) * alike, size=count)


def fewest_passing(threshold: float, confidence: float, samples: int) -> int:
    """Fewest successes among the samples whose exact lower bound reaches the threshold; samples + 1: none do.

    The bound reaches it when so many successes come with a probability of 1 - confidence at most, at the threshold.
    """
    return _first(lambda right: bdtrc(right - 1, samples, threshold) <= 1 - confidence, 1, samples + 1)


def most_failing(threshold: float, confidence: float, samples: int) -> int:
    """Most successes whose exact upper bound stays below the threshold; -1: none do."""
    return _first(lambda right: bdtr(right, samples, threshold) >= 1 - confidence, 0, samples + 1) - 1


def of_proportion(sizes: Sequence[int], threshold: float, expected: float, confidence: float) -> float:
    """Exact: the distribution of the successes of what has not been decided yet is carried from look to look."""
    own = looks.each(confidence, len(sizes))
    if len(sizes) == 1:
        return _at_least(fewest_passing(threshold, own, sizes[0]), sizes[0], expected)
    undecided, first, passed, before = np.ones(1), 0, 0.0, 0  # undecided[i]: the probability of first + i successes
    for size in sizes:
        begin, more = _binomial(size - before, expected)
        undecided, first, before = np.convolve(undecided, more), first + begin, size
        passes, fails = fewest_passing(threshold, own, size), most_failing(threshold, own, size)
        passed += float(undecided[max(passes - first, 0) :].sum())
        undecided[max(passes - first, 0) :] = 0
        undecided[: max(fails + 1 - first, 0)] = 0
    return passed


def of_mean(sizes: Sequence[int], excess: float, spread: float, confidence: float) -> float:
    """Of a mean that truly exceeds the threshold by so much: normal approximation, several looks being simulated."""
    z = float(ndtri(looks.each(confidence, len(sizes))))
    if len(sizes) == 1:
        return float(ndtr(excess / spread * math.sqrt(sizes[0]) - z))
    steps = np.diff(sizes, prepend=0)
    drawn = np.random.default_rng(SEED).standard_normal((SIMULATED, len(sizes))) * np.sqrt(steps)
    scores = np.cumsum(excess / spread * steps + drawn, axis=1) / np.sqrt(sizes)
    return _decided(scores >= z, scores <= -z)


def of_slices(sizes: Sequence[int], slices: int, threshold: float, expected: float, confidence: float) -> float:
    """Of equal slices with scores of 0 and 1: all must pass in one look. Simulated, but for one look."""
    own = looks.each(confidence, len(sizes))
    each = [size // slices for size in sizes]
    passes = [fewest_passing(threshold, own, size) for size in each]
    if len(each) == 1:
        return _at_least(passes[0], each[0], expected) ** slices
    fails = [most_failing(threshold, looks.each(own, slices), size) for size in each]
    steps = np.diff(each, prepend=0)
    drawn = np.random.default_rng(SEED).binomial(steps, expected, size=(SIMULATED, slices, len(each)))
    lowest = np.cumsum(drawn, axis=2).min(axis=1)
    return _decided(lowest >= passes, lowest <= fails)


def of_clusters(
    sizes: Sequence[int], clusters: Clusters, threshold: float, expected: float, confidence: float
) -> float:
    """Of scores of 0 and 1 in clusters of much the same size: by the gate's own bounds of simulated evaluations.

    These bounds are wider than a normal approximation has it, since few clusters hold most of the errors.
    """
    own, rng = looks.each(confidence, len(sizes)), np.random.default_rng(SEED)
    numbers = (np.arange(sizes[-1]) / clusters.size).astype(np.int64)
    passes, fails = np.zeros((2, SIMULATED_CLUSTERED, len(sizes)), dtype=np.bool_)
    for one in range(SIMULATED_CLUSTERED):
        right = rng.random(len(numbers)) < clusters.drawn(numbers[-1] + 1, expected, rng)[numbers]
        for look, size in enumerate(sizes):
            found = bootstrap.mean(right[:size].astype(np.float64), numbers[:size], own, SEED, (0.0, 1.0))
            passes[one, look] = found.lower is not None and found.lower >= threshold
            fails[one, look] = found.upper is not None and found.upper < threshold
    return _decided(passes, fails)


def _decided(passes: NDArray[np.bool_], fails: NDArray[np.bool_]) -> float:
    """The share of simulations (rows) of which the first look that decides lets the model pass."""
    first = np.argmax(passes | fails, axis=1)
    return float(passes[np.arange(len(passes)), first].mean())


def _at_least(right: int, samples: int, expected: float) -> float:
    return float(bdtrc(right - 1, samples, expected)) if right <= samples else 0.0


def _binomial(samples: int, probability: float) -> tuple[int, Floats]:
    """The numbers of successes that are not next to impossible: the first of them, and the probability of each."""
    middle, width = samples * probability, 10 * math.sqrt(samples * probability * (1 - probability)) + 10
    begin, end = max(math.floor(middle - width), 0), min(math.ceil(middle + width), samples)
    below = np.asarray(bdtr(np.arange(begin - 1, end + 1), samples, probability))
    below[0] = 0 if begin == 0 else below[0]
    return begin, np.maximum(np.diff(below), 0)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first number for which it holds, given that it holds from there on; `high`: for none below."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
