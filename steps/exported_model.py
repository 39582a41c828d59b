"""An exported model in the model store.

model.pt2           the program
model.json          how to use it
reference.inputs    a few samples, as raw bytes, and
reference.outputs   what the trained model, not yet exported, made of them
"""

from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat, ValidationError

from argosy.steps import files
from argosy.steps.base import Contract
from argosy.steps.errors import data_error

PROGRAM = "model.pt2"
CARD = "model.json"
INPUTS, OUTPUTS = "reference.inputs", "reference.outputs"


class Reference(Contract):
    """What the trained model made of a few samples."""

    samples: int = Field(ge=1)
    inputs_sha256: str
    """Of reference.inputs."""
    outputs_sha256: str
    """Of reference.outputs."""


class ModelCard(Contract):
    """What a gate, a registry or a server needs to know of a model without loading it."""

    task: str
    hyperparameters: dict[str, Any]
    sha256: str
    """Of model.pt2."""
    input_shape: tuple[int, ...]
    """Of one sample; the model takes batches of them."""
    input_dtype: str
    """As torch names it: `float32`."""
    output_shape: tuple[int, ...]
    """For one sample."""
    output_dtype: str
    training: dict[str, FiniteFloat]
    """What was measured in training: name -> value."""
    reference: Reference | None = None
    """None: the model was exported by an argosy that kept none."""


def verified(folder: Path, sha256: str) -> ModelCard:
    """The card of the model in this folder. Raises StepError (DATA) unless its program is the one with this hash."""
    try:
        card = ModelCard.model_validate_json((folder / CARD).read_bytes())
        found = files.sha256(folder / PROGRAM)
    except FileNotFoundError as error:
        raise data_error(f"{error.filename}: is missing; train again to export the model anew") from None
    except ValidationError as error:
        raise data_error(f"{folder / CARD}: is no model card: {error.errors()[0]['msg']}") from None
    if found != sha256:
        raise data_error(f"{folder / PROGRAM}: has sha256 {found} instead of {sha256}; it changed after training")
    return card
