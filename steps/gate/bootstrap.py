"""Bounds by the bootstrap, for scores of any distribution and for numbers that are no mean. Whole clusters are drawn.

Samples of one cluster, such as the images of one patient, tell less than as many of different ones; whoever draws
single samples takes a bound for certain that is not.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from argosy.steps.gate import betting
from argosy.steps.gate.interval import Interval

FEWEST_CLUSTERS = 20
"""Of fewer the bootstrap tells little: they are unlikely to show how far the others scatter."""
FEWEST_STANDING_OUT = 6
"""Clusters unlike the most, such as those with an error: of fewer, hardly any resample shows how rare they are. With
50 clusters of 1 to 19 samples, a mean of 0.95 and a correlation of 0.3, 5.8 % pass at the threshold without this.
"""
TAIL = 50
"""Resamples beyond the bound: it then moves little from seed to seed."""
DRAWS_AT_ONCE = 2**22
GROUPS = 200
"""Of clusters, that are left out in turn: more would say no more of the skewness."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def mean(scores: Floats, clusters: Indices, confidence: float, seed: int, span: tuple[float, float] | None) -> Interval:
    """The mean of the scores, of which whole clusters (numbered from 0) were drawn, by the studentised bootstrap.

    Hall, The bootstrap and Edgeworth expansion (1992), section 3.10; the spread of a ratio of sums by linearisation.
    All scores lie within `span`; None: nothing is known of that. Where too little scatter was seen for the bootstrap, a
    bound is one that only needs the span.
    """
    totals: Floats = np.bincount(clusters, scores).astype(np.float64)
    sizes = np.bincount(clusters).astype(np.float64)
    estimate = float(scores.mean())
    if len(sizes) < FEWEST_CLUSTERS:
        return _too_few(estimate, len(sizes))
    is_telling = _standing_out(totals / sizes) >= FEWEST_STANDING_OUT
    tail = _studentised(totals, sizes, 1 - confidence, seed) if is_telling else None
    method = f"studentised bootstrap of {len(sizes):,} {'samples' if len(sizes) == len(scores) else 'clusters'}"
    if tail is not None:
        return Interval(estimate, estimate - tail[1], estimate - tail[0], method)
    if span is None:
        return Interval(estimate, None, None, method, "a bound needs scores that differ more")
    low, high = span
    lower = betting.mean_lower(totals, sizes, low, confidence)
    return Interval(estimate, lower, betting.mean_upper(totals, sizes, high, confidence), betting.METHOD)


def statistic(of: Callable[[Indices], float], clusters: Indices, confidence: float, seed: int) -> Interval:
    """A number that is computed from all predictions; `of` computes it from those with these indices, some repeated.

    Bias-corrected and accelerated: Efron, Better bootstrap confidence intervals, Journal of the American Statistical
    Association 82 (1987).
    """
    members = np.split(np.argsort(clusters, kind="stable"), np.cumsum(np.bincount(clusters))[:-1])
    estimate = of(np.arange(len(clusters)))
    if len(members) < FEWEST_CLUSTERS:
        return _too_few(estimate, len(members))
    method = f"bootstrap (BCa) of {len(members):,} {'samples' if len(members) == len(clusters) else 'clusters'}"
    rng, count = np.random.default_rng(seed), _resamples(1 - confidence)
    drawn = (rng.integers(len(members), size=len(members)) for _ in range(count))
    values = np.sort([of(np.concatenate([members[one] for one in chosen])) for chosen in drawn])
    if not np.isfinite(values).all():
        return Interval(estimate, None, None, method, "a bound needs a metric that is a number for any part of them")
    if values[0] == values[-1]:
        return Interval(estimate, None, None, method, "a bound needs predictions that are not all alike")
    below = (np.count_nonzero(values < estimate) + np.count_nonzero(values <= estimate)) / 2
    bias, acceleration = float(ndtri((below + 0.5) / (count + 1))), _acceleration(of, members)

    def bound(share: float, rank: Callable[[float], int]) -> float:
        z = bias + float(ndtri(share))
        corrected = float(ndtr(bias + z / (1 - acceleration * z)))
        return float(values[min(max(rank(corrected * (count + 1)) - 1, 0), count - 1)])

    return Interval(estimate, bound(1 - confidence, math.floor), bound(confidence, math.ceil), method)


def _too_few(estimate: float, clusters: int) -> Interval:
    lacks = f"a bound needs {FEWEST_CLUSTERS} clusters of samples, and there are {clusters}"
    return Interval(estimate, None, None, "bootstrap", lacks)


def _standing_out(means: Floats) -> int:
    """How many clusters do not have the mean that the most have."""
    return len(means) - int(np.unique(means, return_counts=True)[1].max())


def _resamples(error: float) -> int:
    """So many that (resamples + 1) times the error is a whole number, nearly: the ranks of the bounds are exact."""
    return math.ceil(TAIL / error) - 1


def _studentised(totals: Floats, sizes: Floats, error: float, seed: int) -> tuple[float, float] | None:
    """The error's quantile, from below and from above, of (a resample's mean - the mean), scaled from the resample's
    standard error to that of the mean. None: one of them is without limit, since too many resamples have no scatter.
    """
    mean = totals.sum() / sizes.sum()
    totals = totals - mean * sizes  # a scatter that is small beside the mean would be lost in squares
    _, errors = _spreads(totals, sizes, np.ones((1, len(sizes))))
    if errors[0] <= 1e-9 * max(abs(mean), 1e-300):
        return None
    count = _resamples(error)
    deviations = np.empty(count)
    begin = 0
    for weights in _weights(len(sizes), count, np.random.default_rng(seed)):
        shift, scatter = _spreads(totals, sizes, weights)
        shift = np.where(np.abs(shift) <= 1e-12 * abs(mean), 0.0, shift)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(shift == 0, 0.0, shift / np.where(scatter <= 1e-9 * errors[0], 0.0, scatter))
        deviations[begin : begin + len(weights)] = ratio
        begin += len(weights)
    deviations.sort()
    rank = min(math.ceil((count + 1) * (1 - error) - 1e-9), count)
    low, high = deviations[count - rank] * errors[0], deviations[rank - 1] * errors[0]
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None


def _spreads(totals: Floats, sizes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Mean and its standard error for each row of weights, which say how often each cluster was drawn."""
    moments = np.stack([totals, sizes, totals**2, totals * sizes, sizes**2], axis=1)
    total, size, totals_2, product, sizes_2 = (weights @ moments).T
    means = total / size
    return means, np.sqrt(np.maximum(totals_2 - 2 * means * product + means**2 * sizes_2, 0)) / size


def _weights(clusters: int, count: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each cluster is in each resample, some resamples at a time."""
    rows = max(DRAWS_AT_ONCE // clusters, 1)
    for begin in range(0, count, rows):
        now = min(rows, count - begin)
        drawn = rng.integers(clusters, size=(now, clusters)) + clusters * np.arange(now)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=now * clusters).reshape(now, clusters).astype(np.float64)


def _acceleration(of: Callable[[Indices], float], members: list[Indices]) -> float:
    """A sixth of the skewness of the jackknife's values, groups of clusters left out in turn."""
    groups = min(len(members), GROUPS)
    values = np.array(
        [of(np.concatenate([one for at, one in enumerate(members) if at % groups != left])) for left in range(groups)]
    )
    excess = values.mean() - values
    spread = float((excess**2).sum())
    return float((excess**3).sum()) / (6 * spread**1.5) if spread > 0 and math.isfinite(spread) else 0.0
