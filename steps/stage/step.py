"""Stage: a run's data into the node's cache, pinned here where no submission has pinned it.

Run again, it finds the data there and does nothing: no library of stores, nor git, is asked then.
"""

from argosy.steps.contracts import StageInput, StageOutput
from argosy.steps.errors import configuration_error
from argosy.steps.pins import Pin
from argosy.steps.stage.staging import stage


def run(inputs: StageInput) -> StageOutput:
    """Raises StepError: what `resolve.pinned` and `staging.stage` raise, CONFIGURATION for a pin of other data."""
    return stage(inputs, _pin(inputs))


def _pin(inputs: StageInput) -> Pin:
    if not inputs.dataset_pin:
        from argosy.steps.stage import resolve

        return resolve.pinned(inputs.project, inputs.dataset, inputs.revision)
    pin = Pin.model_validate_json(inputs.dataset_pin)
    for field in ("dataset", "revision"):
        asked, pinned = getattr(inputs, field), getattr(pin, field)
        if asked != pinned:
            raise configuration_error(
                f"--dataset-pin: is of {field} {pinned!r} and not {asked!r}; leave it empty, and it is found here"
            )
    return pin
