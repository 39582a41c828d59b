"""The share of a split's samples that the exported model predicts correctly."""

import math
import time

import torch

from argosy.steps import samples, staged, task
from argosy.steps.gate import exported
from argosy.steps.gate.bounds import proportion_lower, proportion_upper
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.exported import Exported
from argosy.steps.gate.verdict import AT_LEAST, Measurement
from argosy.steps.gates import AccuracyInput, GateOutput
from argosy.steps.samples import Samples

BATCH = 256


def run(inputs: AccuracyInput) -> GateOutput:
    """Raises StepError (DATA) when the model or the split is missing, empty or damaged."""
    started = time.monotonic()
    model = exported.load(inputs)
    with staged.data(inputs) as folder:
        split = samples.load(model.task, folder, inputs.split)
    measured = measure(model, split, inputs.confidence)
    return concluded(inputs, measured, inputs.at_least, AT_LEAST, started)


def measure(model: Exported, split: Samples, confidence: float) -> Measurement:
    """The accuracy over all samples; NaN when any output is not finite, since such a model is broken."""
    correct = broken = 0
    batches = zip(torch.split(split.inputs, BATCH), torch.split(split.targets, BATCH), strict=True)
    for inputs, targets in batches:
        outputs = model.request(inputs).cpu()
        correct += int(task.correct(model.task, outputs, targets).sum())
        broken += int((~outputs.isfinite()).flatten(1).any(dim=1).sum())
    n = len(split)
    return Measurement(
        metric="accuracy",
        unit="",
        estimate=math.nan if broken else correct / n,
        lower=proportion_lower(correct, n, confidence),
        upper=proportion_upper(correct, n, confidence),
        samples=n,
        conditions=f"outputs of {broken} of {n} samples hold NaN or infinity" if broken else f"n = {n}",
        advice="more samples would tell",
    )
