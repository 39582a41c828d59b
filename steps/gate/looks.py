"""Looks at the samples: some of them first, and twice as many each time that those cannot tell, up to all.

Whoever looks until he likes what he sees is wrong more often than he says. So the looks are planned beforehand and
share the error out evenly, which holds however they depend on one another (Bonferroni).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from argosy.steps.gate import verdict
from argosy.steps.gate.verdict import Direction, Measurement
from argosy.steps.gates import Answer


def sizes(first: int, looks: int, available: int | None = None) -> list[int]:
    """How many samples each look takes; `first` 0: all at once. `available`: how many there are; None: without end."""
    if available is None:
        return [first << look for look in range(looks)]
    if first == 0 or first >= available:
        return [available]
    doubled = [first << look for look in range(looks)]
    return [size for size in doubled if size < available] + [available] * (doubled[-1] >= available)


def each(confidence: float, looks: int) -> float:
    """The confidence of each of so many looks that gives this one to all of them together."""
    return 1 - (1 - confidence) / looks


def taken(
    sizes: Sequence[int],
    confidence: float,
    threshold: float,
    direction: Direction,
    measure: Callable[[int, float], Measurement],
) -> Measurement:
    """The first look that decides, else the last; `measure` takes a look's samples and its confidence."""
    own = each(confidence, len(sizes))
    for number, size in enumerate(sizes, start=1):
        measured = replace(measure(size, own), looks=number, planned=len(sizes))
        # What is not finite may only lack samples, as F1 does where none is positive; what is broken stays so.
        if measured.is_finite and verdict.answer(measured, threshold, direction) is not Answer.INCONCLUSIVE:
            break
    return measured
