"""From a measurement to a verdict: the one place where pass, fail and inconclusive are told apart.

A model passes when even the pessimistic bound keeps the threshold, and fails when even the optimistic bound breaks it.
Between the two the samples cannot tell. The verdict's `bound` is the one that decided; where none did it is the
pessimistic one, whose margin says how much is lacking.
"""

import math
from dataclasses import dataclass

from argosy.steps import machine
from argosy.steps.gate.section import Section
from argosy.steps.gates import MOST_PARTS, Answer, GateInput, Part, Verdict


@dataclass(frozen=True)
class Direction:
    """On which side of its threshold a metric is good, and the words for it."""

    sign: int
    pessimistic: str
    optimistic: str
    words: dict[Answer, str]


AT_LEAST = Direction(
    sign=+1,
    pessimistic="lower",
    optimistic="upper",
    words={Answer.PASS: "reaches", Answer.FAIL: "stays below", Answer.INCONCLUSIVE: "may or may not reach"},
)
AT_MOST = Direction(
    sign=-1,
    pessimistic="upper",
    optimistic="lower",
    words={Answer.PASS: "keeps within", Answer.FAIL: "exceeds", Answer.INCONCLUSIVE: "may or may not keep within"},
)


@dataclass(frozen=True)
class Measurement:
    """A metric with its one-sided bounds; None where the samples are too few for a bound."""

    metric: str
    unit: str
    estimate: float
    lower: float | None
    upper: float | None
    samples: int
    conditions: str
    """How it was measured: the end of the verdict's sentence."""
    advice: str = ""
    """What would decide an inconclusive measurement."""
    method: str = ""
    """How the bounds were found."""
    looks: int = 1
    """How many looks at the samples were taken."""
    planned: int = 1
    """How many might have been: they share the error."""
    champion: int | None = None
    """Version that the model was compared with."""
    parts: tuple[Part, ...] = ()
    """Decisions that this one is made of, the worst first."""
    sections: tuple[Section, ...] = ()
    """What the report shows besides."""

    @classmethod
    def exact(cls, metric: str, unit: str, value: float, samples: int, conditions: str) -> "Measurement":
        """Of what is no sample of anything: its bounds are the measured value itself."""
        return cls(metric, unit, value, value, value, samples, conditions)

    @property
    def is_finite(self) -> bool:
        return all(math.isfinite(value) for value in (self.estimate, self.lower, self.upper) if value is not None)

    @property
    def is_exact(self) -> bool:
        return self.lower == self.estimate == self.upper

    def bound(self, side: str) -> float | None:
        return self.lower if side == "lower" else self.upper

    def text(self, value: float | None) -> str:
        return "none" if value is None else f"{value:.4g} {self.unit}".rstrip()


def judge(inputs: GateInput, measured: Measurement, threshold: float, direction: Direction) -> Verdict:
    """The verdict on a measurement. What is not finite fails: it is no number to compare."""
    if measured.is_finite:
        decided, bound = _decide(measured, threshold, direction)
        reason = _reason(measured, decided, threshold, direction, inputs.confidence)
    else:
        decided, bound = Answer.FAIL, None
        reason = f"{measured.metric} is not finite, {measured.conditions}"
    return Verdict(
        gate=inputs.gate,
        answer=decided,
        inconclusive=inputs.inconclusive,
        metric=f"{measured.metric} {measured.unit}".rstrip(),
        estimate=measured.estimate if math.isfinite(measured.estimate) else None,
        bound=bound,
        threshold=threshold,
        margin=None if bound is None else direction.sign * (bound - threshold),
        confidence=inputs.confidence,
        samples=measured.samples,
        method=measured.method,
        looks=measured.looks,
        champion=measured.champion,
        parts=measured.parts[:MOST_PARTS],
        dataset_hash=inputs.dataset_hash,
        machine=machine.fingerprint(),
        reason=reason,
    )


def answer(measured: Measurement, threshold: float, direction: Direction) -> Answer:
    """What a measurement says of a threshold."""
    return _decide(measured, threshold, direction)[0] if measured.is_finite else Answer.FAIL


def _decide(measured: Measurement, threshold: float, direction: Direction) -> tuple[Answer, float | None]:
    pessimistic, optimistic = measured.bound(direction.pessimistic), measured.bound(direction.optimistic)
    if pessimistic is not None and direction.sign * (pessimistic - threshold) >= 0:
        return Answer.PASS, pessimistic
    if optimistic is not None and direction.sign * (optimistic - threshold) < 0:
        return Answer.FAIL, optimistic
    return Answer.INCONCLUSIVE, pessimistic


def _reason(m: Measurement, answer: Answer, threshold: float, direction: Direction, confidence: float) -> str:
    at, advice = f"at {100 * confidence:g} %{f' over {m.planned} looks' if m.planned > 1 else ''}", ""
    if answer is Answer.INCONCLUSIVE:
        bounds, advice = f" (bounds {m.text(m.lower)} and {m.text(m.upper)} {at})", f"; {m.advice}"
    elif m.is_exact:
        bounds = ""
    else:
        side = direction.pessimistic if answer is Answer.PASS else direction.optimistic
        bounds = f" ({side} bound {m.text(m.bound(side))} {at})"
    verb = direction.words[answer]
    return f"{m.metric} {m.text(m.estimate)}{bounds} {verb} {m.text(threshold)}, {m.conditions}{advice}"
