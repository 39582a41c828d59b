"""How unsteady the machine itself is: a small fixed piece of work, timed again and again among the requests."""

import math

from argosy.steps.gate.bounds import quantile_estimate
from argosy.steps.gate.clock import Clock

WORK = range(1000)
"""Summed in some ten microseconds: too little to slow down the requests, and enough for a clock's resolution."""
QUANTILE = 0.99


class Noise:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._taken: list[int] = []

    def take(self) -> None:
        """Does the piece of work once."""
        began = self._clock.now()
        sum(WORK)
        self._taken.append(self._clock.now() - began)

    @property
    def ratio(self) -> float:
        """The piece's p99 divided by its median; NaN: it was never timed."""
        ascending = sorted(self._taken)
        median = quantile_estimate(ascending, 0.5) if ascending else 0
        return quantile_estimate(ascending, QUANTILE) / median if median else math.nan

    @property
    def words(self) -> str:
        """`a fixed piece of work took 1.3 times its median at p99 on this machine`; empty: it was never timed."""
        if math.isnan(self.ratio):
            return ""
        times = f"{self.ratio:.2g}" if self.ratio < 10 else f"{self.ratio:,.0f}"
        return f"a fixed piece of work took {times} times its median at p99 on this machine"
