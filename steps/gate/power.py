"""How probable it is that a model of known quality passes a gate."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, ndtr, ndtri

from argosy.steps.gate import looks

SIMULATED = 10_000
SEED = 0
Floats = NDArray[np.float64]


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
