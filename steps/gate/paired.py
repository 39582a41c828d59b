"""The difference of two proportions that were measured on the same samples."""

import math
from collections.abc import Callable

from scipy.special import ndtri

from argosy.steps.gate.interval import Interval

METHOD = "score interval for paired proportions (Tango)"
HALVINGS = 60
"""Of an interval of length 2: what is left is below the spacing of doubles."""


def difference(gained: int, lost: int, samples: int, confidence: float) -> Interval:
    """How much larger the one proportion is: `gained` samples count for it alone, `lost` for the other alone.

    Tango, Equivalence test and confidence interval for the difference in proportions for the paired-sample design,
    Statistics in Medicine 17 (1998), equation 9. Unlike Wald's it has a width also where no sample differs.
    """
    lower = _lower(gained, lost, samples, confidence)
    return Interval((gained - lost) / samples, lower, -_lower(lost, gained, samples, confidence), METHOD)


def _lower(gained: int, lost: int, samples: int, confidence: float) -> float:
    """The smallest difference that a one-sided score test at this confidence does not reject."""
    z = float(ndtri(confidence))
    return _root(lambda difference: _score(gained, lost, samples, difference) > z, -1.0, (gained - lost) / samples)


def _score(gained: int, lost: int, samples: int, difference: float) -> float:
    """(Observed - supposed difference) in its standard errors, at the likeliest proportions with that difference."""
    b = -gained - lost + (2 * samples - gained + lost) * difference
    c = -lost * difference * (1 - difference)
    only_other = (math.sqrt(max(b * b - 8 * samples * c, 0.0)) - b) / (4 * samples)
    variance = samples * (2 * only_other + difference * (1 - difference))
    excess = gained - lost - samples * difference
    return excess / math.sqrt(variance) if variance > 0 else 0.0  # no difference was seen, and none is supposed


def _root(rejects: Callable[[float], bool], rejected: float, kept: float) -> float:
    """The border between what a test rejects and what it keeps; on the side of what it rejects."""
    for _ in range(HALVINGS):
        middle = (rejected + kept) / 2
        if rejects(middle):
            rejected = middle
        else:
            kept = middle
    return rejected
