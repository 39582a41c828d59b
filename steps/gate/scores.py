"""What a metric says of a model's predictions, and the bounds that follow from it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from argosy.steps.gate import bootstrap, paired
from argosy.steps.gate.bounds import proportion_lower, proportion_upper
from argosy.steps.gate.interval import Interval

EXACT = "exact binomial (Clopper-Pearson)"


@dataclass(frozen=True)
class Scores:
    """Of samples, in the order of judging."""

    of: Callable[[NDArray[np.int64]], float]
    """The metric over the samples with these indices."""
    each: NDArray[np.float64] | None
    """The metric for each sample, whose mean is that over all; None: it has no such parts."""
    right_or_wrong: bool
    """Each sample's score is 0 or 1."""
    clusters: NDArray[np.int64]
    """Which samples belong together: they have the same number."""
    broken: int
    """Samples whose outputs or score hold NaN or infinity."""

    def __len__(self) -> int:
        return len(self.clusters)

    @property
    def independent(self) -> bool:
        """Each sample is a cluster of its own."""
        return len(np.unique(self.clusters)) == len(self)

    def among(self, indices: NDArray[np.int64]) -> "Scores":
        """Those of these samples alone; what is broken stays so, since such a model is."""
        each = None if self.each is None else self.each[indices]
        clusters = np.unique(self.clusters[indices], return_inverse=True)[1].astype(np.int64)
        return replace(self, of=lambda chosen: self.of(indices[chosen]), each=each, clusters=clusters)

    def interval(self, confidence: float, seed: int) -> Interval:
        """The metric over all samples. The seed is for resampling."""
        if self.broken:
            return Interval(math.nan, None, None, "none")
        if self.each is None:
            return bootstrap.statistic(self.of, self.clusters, confidence, seed)
        if not (self.right_or_wrong and self.independent):
            span = (0.0, 1.0) if self.each.min() >= 0 and self.each.max() <= 1 else None
            return bootstrap.mean(self.each, self.clusters, confidence, seed, span)
        right, n = int(self.each.sum()), len(self)
        lower, upper = proportion_lower(right, n, confidence), proportion_upper(right, n, confidence)
        return Interval(right / n, lower, upper, EXACT)


def difference(new: Scores, old: Scores, confidence: float, seed: int) -> Interval:
    """How much better the one model is than the other, both judged on the same samples in the same order."""
    if new.broken:
        return Interval(math.nan, None, None, "none")
    if new.each is None or old.each is None:
        return bootstrap.statistic(lambda chosen: new.of(chosen) - old.of(chosen), new.clusters, confidence, seed)
    differences = new.each - old.each
    if new.right_or_wrong and old.right_or_wrong and new.independent:
        gained, lost = int((differences > 0).sum()), int((differences < 0).sum())
        return paired.difference(gained, lost, len(new), confidence)
    both = np.concatenate([new.each, old.each])
    span = (-1.0, 1.0) if both.min() >= 0 and both.max() <= 1 else None
    return bootstrap.mean(differences, new.clusters, confidence, seed, span)
