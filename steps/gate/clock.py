"""Time as the latency gate reads it and waits for it."""

import time
from typing import Protocol

SPIN_NS = 1_000_000
"""The end of a wait that is spent looking at the clock: a sleep may end this much late."""


class Clock(Protocol):
    def now(self) -> int:
        """Nanoseconds since some moment."""

    def wait_until(self, moment: int) -> None:
        """Returns at that moment, at once if it has passed."""


class MachineClock:
    def now(self) -> int:
        return time.perf_counter_ns()

    def wait_until(self, moment: int) -> None:
        while (left := moment - time.perf_counter_ns()) > SPIN_NS:
            time.sleep((left - SPIN_NS) / 1e9)
        while time.perf_counter_ns() < moment:
            pass
