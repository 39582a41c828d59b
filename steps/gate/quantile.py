"""A quantile and its bounds, from samples that know nothing of one another, or from some that hang together.

When one request waits in a line, so does the next: a queue's latencies hold less news than as many independent ones.
How much less shows in the share of slow ones, which differs more from one stretch of time to another than chance alone
would have it: the design effect. The bounds are then those of so many independent samples: Woodruff, Confidence
intervals for medians and other position measures, J. Amer. Statist. Assoc. 47 (1952), with the effective sample size of
Korn & Graubard, Confidence intervals for proportions with small expected number of positive counts estimated from
survey data, Survey Methodology 24 (1998), stretches of time being the clusters.

Simulated queues, of constant, exponential and log-normal service times, keep the error that is stated up to a load of
0.85; had their latencies been taken for independent, it would be ten times as large. What happens so rarely that no
stretch has it stays unknown.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from argosy.steps import gates
from argosy.steps.gate.bounds import quantile_estimate, quantile_lower, quantile_upper
from argosy.steps.gate.interval import Interval

STRETCHES = (5, 10, 20, 40)
"""Into how many the time is cut: few are long enough to hang together no more, many show best how they differ."""


def independent(samples: Sequence[float], quantile: float, confidence: float) -> Interval:
    """A quantile of what samples that know nothing of one another are drawn from."""
    ascending = sorted(samples)
    return Interval(
        quantile_estimate(ascending, quantile),
        quantile_lower(ascending, quantile, confidence),
        quantile_upper(ascending, quantile, confidence),
        method="order statistics (exact)",
        lacks=_lacks(len(ascending), len(ascending), quantile, confidence),
    )


def dependent(in_order: Sequence[float], quantile: float, confidence: float) -> Interval:
    """A quantile of what was sampled in this order."""
    n, ascending = len(in_order), sorted(in_order)
    estimate = quantile_estimate(ascending, quantile)
    effective = effective_samples(in_order, estimate, confidence)
    lower = quantile_lower(range(effective), quantile, confidence)
    upper = quantile_upper(range(effective), quantile, confidence)
    return Interval(
        estimate,
        None if lower is None else ascending[int(lower * n / effective)],
        None if upper is None else ascending[math.ceil((upper + 1) * n / effective) - 1],
        method=f"order statistics, {n:,} samples in a row counting as {effective:,}",
        lacks=_lacks(n, effective, quantile, confidence),
    )


def effective_samples(in_order: Sequence[float], bar: float, confidence: float) -> int:
    """As how many independent samples these count where the share above the bar matters: the fewest that any way to
    cut the time suggests.
    """
    slow = np.asarray(in_order) > bar
    return min((_effective(slow, number, confidence) for number in STRETCHES if len(slow) >= 2 * number), default=0)


def _effective(slow: NDArray[np.bool_], stretches: int, confidence: float) -> int:
    """By this many stretches; Student's t pays for the few from which their variance is known."""
    each = len(slow) // stretches
    shares = slow[: each * stretches].reshape(stretches, each).mean(axis=1)
    by_chance = shares.mean() * (1 - shares.mean()) / each
    design_effect = max(float(shares.var(ddof=1) / by_chance), 1.0) if by_chance else 1.0
    known = float(ndtri(confidence) / stdtrit(stretches - 1, confidence)) ** 2
    return int(len(slow) / design_effect * known)


def _lacks(samples: int, effective: int, quantile: float, confidence: float) -> str:
    needed = gates.requests_needed(quantile, confidence)
    return (
        f"an upper bound needs {math.ceil(needed * samples / max(effective, 1))} requests" if effective < needed else ""
    )
