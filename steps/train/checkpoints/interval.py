"""When the next checkpoint is due."""

import math

FIRST_SECONDS = 30.0
"""Before the first save nobody knows what one costs."""


class Interval:
    """A fixed time between two checkpoints; or the one that costs least, given how often a training fails.

    J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974: the time between
    two is the square root of twice what one costs times the time between two failures. What one costs is the time for
    which a step waits, since the rest is done beside the training.
    """

    def __init__(self, seconds: float, hours_between_failures: float) -> None:
        """`seconds` 0: chosen."""
        self._fixed = seconds > 0
        self._between_failures = 3600 * hours_between_failures
        self.seconds = seconds or FIRST_SECONDS
        """Between two checkpoints, as it is now."""
        self._last: float | None = None

    def due(self, now: float) -> bool:
        """Whether it is time, by any clock that only goes on. The first call starts the time."""
        if self._last is None:
            self._last = now
        return now >= self._last + self.seconds

    def saved(self, now: float, stall_seconds: float, save_seconds: float) -> None:
        """One was begun; what its step waited, and how long one takes until it counts: sooner there is no next."""
        self._last = now
        if not self._fixed:
            self.seconds = max(math.sqrt(2 * stall_seconds * self._between_failures), save_seconds)
