"""Ensure: pinned data is in the cache of whichever node this pod came to."""

from argosy.steps.contracts import EnsureInput, StageOutput
from argosy.steps.stage.staging import stage


def run(inputs: EnsureInput) -> StageOutput:
    """Raises StepError: what `staging.stage` raises."""
    return stage(inputs, inputs.dataset_pin, inputs.part)
