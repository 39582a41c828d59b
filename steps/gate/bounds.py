"""Exact one-sided confidence bounds: no normal approximation, valid for any number of samples.

A bound at confidence c is wrong, on the side that matters, in at most a share 1 - c of all measurements.
All formulas take the samples to be independent draws from what the model will meet.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, betaincinv


def proportion_lower(successes: int, samples: int, confidence: float) -> float:
    """Lower bound of a probability of which `successes` of `samples` were seen.

    Clopper & Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial, Biometrika
    26 (1934), in its form by quantiles of the beta distribution.
    """
    if successes == 0:
        return 0.0
    return float(betaincinv(successes, samples - successes + 1, 1 - confidence))


def proportion_upper(successes: int, samples: int, confidence: float) -> float:
    """Upper bound of a probability: one minus the lower bound of its complement."""
    return 1 - proportion_lower(samples - successes, samples, confidence)


def quantile_estimate(ascending: Sequence[float], quantile: float) -> float:
    """The smallest sample that at least this share of the samples does not exceed."""
    return ascending[max(math.ceil(quantile * len(ascending)), 1) - 1]


def quantile_upper(ascending: Sequence[float], quantile: float, confidence: float) -> float | None:
    """Upper bound of a distribution's quantile: one of its own samples. None: there are too few of
    them, fewer than `gates.requests_needed`.

    The k-th smallest of n samples lies below the quantile only if at least k samples do, and their number is at most
    binomial(n, quantile), whatever the distribution: David & Nagaraja, Order Statistics (2003), section 7.1.
    """
    rank = int(np.searchsorted(_at_most_below(len(ascending), quantile), confidence)) + 1
    return ascending[rank - 1] if rank <= len(ascending) else None


def quantile_lower(ascending: Sequence[float], quantile: float, confidence: float) -> float | None:
    """Lower bound of a distribution's quantile, by the same argument from the other side."""
    rank = int(np.searchsorted(_at_most_below(len(ascending), quantile), 1 - confidence, side="right"))
    return ascending[rank - 1] if rank else None


def _at_most_below(samples: int, quantile: float) -> np.ndarray:
    """P(at most k of the samples lie below the quantile) for k = 0 ... samples - 1, ascending."""
    return np.asarray(bdtr(np.arange(samples), samples, quantile))
