"""How much room the exported model takes: what is copied to wherever it is served."""

import time

from argosy.steps import exported_model
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.verdict import AT_MOST, Measurement
from argosy.steps.gates import GateOutput, SizeInput

MIB = 2**20
SERVED = (exported_model.PROGRAM, exported_model.CARD)
"""The reference beside them is only for judging."""


def run(inputs: SizeInput) -> GateOutput:
    """Raises StepError (DATA) when the model is missing or has changed."""
    started = time.monotonic()
    folder = inputs.models / inputs.model
    exported_model.verified(folder, inputs.model_hash)
    size = sum((folder / name).stat().st_size for name in SERVED) / MIB
    measured = Measurement.exact("model size", "MiB", size, len(SERVED), f"as {' and '.join(SERVED)}")
    return concluded(inputs, measured, inputs.at_most_mib, AT_MOST, started)
