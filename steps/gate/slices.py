"""How good the predictions are for each slice of a split, such as each hospital: the worst one decides.

The model passes when every slice's lower bound reaches the threshold. That needs no correction for many slices: a model
with one slice at the threshold passes only if that one does, whatever the others (an intersection-union test, Berger,
Technometrics 24 (1982)). It fails when some slice's upper bound stays below; of many slices one may seem to by chance,
so there they share the error. While more samples may be looked at, none passes by having too few of them.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argosy.steps.gate import exported, looks, sampled, slice_plot
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.scores import Scores
from argosy.steps.gate.verdict import AT_LEAST, Measurement
from argosy.steps.gates import Answer, GateOutput, Part, SlicesInput

NAMED = 10
"""Unjudged slices that the verdict's sentence names."""


@dataclass(frozen=True)
class Slice:
    name: str
    samples: int
    estimate: float
    lower: float | None
    """At the confidence of the gate."""
    upper: float | None
    """At that which leaves this confidence to all slices together."""
    method: str
    lacks: str

    def part(self, at_least: float) -> Part:
        """The decision on this slice."""
        answer, bound = Answer.INCONCLUSIVE, self.lower
        if not math.isfinite(self.estimate):
            return Part(name=self.name, answer=Answer.FAIL, estimate=None, bound=None, samples=self.samples)
        if self.lower is not None and self.lower >= at_least:
            answer = Answer.PASS
        elif self.upper is not None and self.upper < at_least:
            answer, bound = Answer.FAIL, self.upper
        return Part(name=self.name, answer=answer, estimate=self.estimate, bound=bound, samples=self.samples)

    @property
    def badness(self) -> tuple[bool, float, float, str]:
        """The order in which the worst comes first: what is no number, then what has no bound."""
        is_number = math.isfinite(self.estimate)
        lower = -math.inf if self.lower is None else self.lower
        return is_number, lower, self.estimate if is_number else 0, self.name


def run(inputs: SlicesInput) -> GateOutput:
    """Raises StepError: DATA when the model or the split is missing, empty or damaged; else as the metric does."""
    started = time.monotonic()
    with sampled.sampling(inputs, [exported.load(inputs)], [inputs.by]) as sampling:

        def measure(scores: list[Scores], confidence: float) -> Measurement:
            is_last = len(scores[0]) == sampling.most
            return measurement(inputs, scores[0], sampling.labels(0), confidence, sampling.seed, is_last=is_last)

        measured = sampling.looked(inputs.at_least, measure)
    return concluded(inputs, measured, inputs.at_least, AT_LEAST, started)


def measurement(
    inputs: SlicesInput, scores: Scores, labels: list[str], confidence: float, seed: int, *, is_last: bool = True
) -> Measurement:
    """The worst slice's metric, between the lowest of the slices' lower and of their corrected upper bounds.

    Slices without support count for nothing at the last look; before it no lower bound is claimed for them.
    """
    members = _members(labels[: len(scores)])
    supported = {name: indices for name, indices in members.items() if len(indices) >= inputs.support}
    slices = [] if scores.broken else judged(scores, supported, confidence, seed)
    worst = min(slices, key=lambda one: (math.isfinite(one.estimate), one.estimate), default=None)
    lowers = [one.lower for one in slices if one.lower is not None]
    uppers = [one.upper for one in slices if one.upper is not None]
    is_open = len(lowers) < len(slices) or (not is_last and len(supported) < len(members))
    metric = sampled.name(inputs)
    estimate = scores.interval(confidence, seed).estimate if worst is None else worst.estimate
    return Measurement(
        metric=f"{metric} of the worst {inputs.by}",
        unit="",
        estimate=estimate,
        lower=None if is_open else min(lowers, default=None),
        upper=min(uppers, default=None),
        samples=sum(one.samples for one in slices),
        conditions=_conditions(inputs, scores, len(supported), sorted(members.keys() - supported.keys())),
        advice=next((one.lacks for one in slices if one.lacks), "more samples would tell"),
        method="" if worst is None else f"{worst.method}; upper bounds share the error of {len(slices)} slices",
        parts=tuple(one.part(inputs.at_least) for one in slices),
        sections=(slice_plot.section_of(inputs, slices),) if slices else (),
    )


def judged(scores: Scores, members: dict[str, NDArray[np.int64]], confidence: float, seed: int) -> list[Slice]:
    """The slices with these samples, the worst first."""
    corrected = looks.each(confidence, max(len(members), 1))
    slices = []
    for name, indices in members.items():
        own = scores.among(indices)
        low, high = own.interval(confidence, seed), own.interval(corrected, seed)
        slices.append(Slice(name, len(own), low.estimate, low.lower, high.upper, low.method, low.lacks))
    return sorted(slices, key=lambda one: one.badness)


def _members(labels: list[str]) -> dict[str, NDArray[np.int64]]:
    """Slice -> its samples' indices."""
    names, which = np.unique(np.asarray(labels), return_inverse=True)
    return {str(name): np.flatnonzero(which == number) for number, name in enumerate(names)}


def _conditions(inputs: SlicesInput, scores: Scores, supported: int, unsupported: list[str]) -> str:
    if scores.broken:
        return sampled.conditions(inputs, scores)
    words = f"{supported} slices by {inputs.by}, {sampled.conditions(inputs, scores)}"
    if not unsupported:
        return words
    more = f" and {len(unsupported) - NAMED} more" if len(unsupported) > NAMED else ""
    return f"{words}; not judged, having fewer than {inputs.support} samples: {', '.join(unsupported[:NAMED])}{more}"
