"""Bounds of a mean that hold for any distribution between two known ends, however few samples tell of its spread.

A gambler who bets against a supposed mean can hardly become rich if the supposition is right: money in proportion to
1 / error comes with at most that probability, whatever the distribution. Waudby-Smith & Ramdas, Estimating means of
bounded random variables by betting, Journal of the Royal Statistical Society B 86 (2024), section 4; the bets here are
shares of the highest stake that cannot lose more than there is, the money shared out evenly among them beforehand.
"""

import math

import numpy as np
from numpy.typing import NDArray

METHOD = "distribution-free bound (betting)"
STAKES = np.geomspace(2.0**-15, 1, 16)
HALVINGS = 50


def mean_lower(totals: NDArray[np.float64], sizes: NDArray[np.float64], low: float, confidence: float) -> float:
    """Lower bound of a mean over samples, of which whole clusters were drawn.

    `totals` are the sums of the clusters' scores, none of which can be below `low`; `sizes` count them.
    """
    wealth = math.log(1 / (1 - confidence))
    rejected, kept = low, float(totals.sum() / sizes.sum())
    for _ in range(HALVINGS):
        middle = (rejected + kept) / 2
        if middle > low and _log_wealth(totals, sizes, middle, low) >= wealth:
            rejected = middle
        else:
            kept = middle
    return rejected


def mean_upper(totals: NDArray[np.float64], sizes: NDArray[np.float64], high: float, confidence: float) -> float:
    """Upper bound, none of the scores being able to exceed `high`: by the same argument for their negatives."""
    return -mean_lower(-totals, sizes, -high, confidence)


def _log_wealth(totals: NDArray[np.float64], sizes: NDArray[np.float64], mean: float, low: float) -> float:
    """What one unit of money has become, if each cluster's excess over this mean was bet on; its logarithm."""
    most_lost = (mean - low) * sizes.max()
    won = np.maximum((totals - mean * sizes) / most_lost, -1)  # rounding must not lose more than there is
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.outer(STAKES, won)).sum(axis=1)
    return float(np.logaddexp.reduce(logs) - math.log(len(STAKES)))
