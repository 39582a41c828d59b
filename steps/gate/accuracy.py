"""How good the exported model's predictions for a split are, by any metric of its task."""

import time

from argosy.steps.gate import exported, sampled
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.scores import Scores
from argosy.steps.gate.verdict import AT_LEAST, Measurement
from argosy.steps.gates import AccuracyInput, GateOutput


def run(inputs: AccuracyInput) -> GateOutput:
    """Raises StepError: DATA when the model or the split is missing, empty or damaged; else as the metric does."""
    started = time.monotonic()
    with sampled.sampling(inputs, [exported.load(inputs)]) as sampling:
        measured = sampling.looked(
            inputs.at_least, lambda scores, confidence: measurement(inputs, scores[0], confidence, sampling.seed)
        )
    return concluded(inputs, measured, inputs.at_least, AT_LEAST, started)


def measurement(inputs: AccuracyInput, scores: Scores, confidence: float, seed: int) -> Measurement:
    """The metric over all samples; NaN when any output is not finite, since such a model is broken."""
    interval = scores.interval(confidence, seed)
    return Measurement(
        metric=sampled.name(inputs),
        unit="",
        estimate=interval.estimate,
        lower=interval.lower,
        upper=interval.upper,
        samples=len(scores),
        conditions=sampled.conditions(inputs, scores),
        advice=sampled.advice(interval),
        method=interval.method,
    )
