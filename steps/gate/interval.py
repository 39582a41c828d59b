"""What samples say about a value: an estimate between two one-sided bounds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """Each bound holds at the confidence that was asked for, by itself; None: the samples are too few for it."""

    estimate: float
    lower: float | None
    upper: float | None
    method: str
    """How the bounds were found, for a person."""
    lacks: str = ""
    """What a bound would need; empty: nothing, both are there."""
