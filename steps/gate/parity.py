"""Whether the exported model still is the trained one: both on the same inputs, of which the trainer kept the outputs.

What went wrong in exporting, or differs on the device that judges, shows as a difference; rounding does, too.
"""

import math
import time
from pathlib import Path

import torch
from torch import Tensor

from argosy.steps import exported_model, files
from argosy.steps.errors import data_error
from argosy.steps.exported_model import ModelCard
from argosy.steps.gate import exported
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.verdict import AT_MOST, Measurement
from argosy.steps.gates import GateOutput, ParityInput


def run(inputs: ParityInput) -> GateOutput:
    """Raises StepError (DATA) when the model or its reference is missing or damaged."""
    started = time.monotonic()
    model = exported.load(inputs)
    given, wanted = reference(inputs.models / inputs.model, model.card)
    difference = relative_difference(model.request(given).cpu(), wanted)
    conditions = f"over the outputs for {len(given)} samples on {model.device.name}"
    measured = Measurement.exact("relative difference to the trained model", "", difference, len(given), conditions)
    return concluded(inputs, measured, inputs.at_most, AT_MOST, started)


def reference(folder: Path, card: ModelCard) -> tuple[Tensor, Tensor]:
    """Inputs, and what the trained model made of them. Raises StepError (DATA) unless the trainer left them so."""
    if card.reference is None:
        raise data_error(
            f"{folder / exported_model.CARD}: has no reference of the trained model's outputs; train again"
        )
    samples = card.reference.samples
    inputs = _tensor(folder / exported_model.INPUTS, card.reference.inputs_sha256, card.input_dtype)
    outputs = _tensor(folder / exported_model.OUTPUTS, card.reference.outputs_sha256, card.output_dtype)
    return inputs.reshape(samples, *card.input_shape), outputs.reshape(samples, *card.output_shape)


def relative_difference(found: Tensor, wanted: Tensor) -> float:
    """Largest magnitude of the difference divided by the largest of what is wanted; NaN or infinity: they hold such."""
    if found.shape != wanted.shape:
        return math.inf
    kind = torch.complex128 if wanted.is_complex() else torch.float64
    difference, scale = (float(one.abs().max()) for one in (found.to(kind) - wanted.to(kind), wanted.to(kind)))
    if difference == 0:
        return 0.0
    return difference / scale if scale else math.inf


def _tensor(path: Path, sha256: str, dtype: str) -> Tensor:
    try:
        found, data = files.sha256(path), bytearray(path.read_bytes())
    except FileNotFoundError:
        raise data_error(f"{path}: is missing; train again to export the model anew") from None
    if found != sha256:
        raise data_error(f"{path}: has sha256 {found} instead of {sha256}; it changed after training")
    kind: torch.dtype = getattr(torch, dtype)
    return torch.frombuffer(data, dtype=kind)
