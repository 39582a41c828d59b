"""How fast a training is, and how much of its time counted."""

import time
from typing import Any


class Pace:
    """Seconds that went into steps, over all attempts. What was trained after a checkpoint and lost does not count."""

    def __init__(self) -> None:
        self.samples = 0
        self.seconds = 0.0
        self._mark = time.monotonic()

    def start(self) -> None:
        """A step begins now."""
        self._mark = time.monotonic()

    def skip(self, seconds: float) -> None:
        """What is no part of the step took this long."""
        self._mark += seconds

    def stepped(self, samples: int) -> float:
        """A step ends now, of these samples of all ranks. Its seconds."""
        seconds = time.monotonic() - self._mark
        self.seconds += seconds
        self.samples += samples
        return seconds

    @property
    def samples_per_second(self) -> float | None:
        """None: nobody said how many samples a step has."""
        return self.samples / max(self.seconds, 1e-9) if self.samples else None

    def state_dict(self) -> dict[str, Any]:
        return {"samples": self.samples, "seconds": self.seconds}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self.samples, self.seconds = state["samples"], state["seconds"]
