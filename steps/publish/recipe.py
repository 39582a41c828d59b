"""What a registered model says of its making, in the words of MLflow: parameters, metrics and tags."""

from dataclasses import dataclass

from pydantic import BaseModel, TypeAdapter, ValidationError

from argosy.steps import values
from argosy.steps.contracts import ExitCode, PublishInput, Step
from argosy.steps.errors import StepError
from argosy.steps.exported_model import ModelCard

RUN_UID = "argosy.run_uid"
"""The tag under which a run's version is found again: what makes publishing happen once."""
RUN = "argosy.run"
"""The tag of the run's name, under which its training's metrics are found."""
LONGEST_PARAMETER = 6000  # mlflow/utils/validation.py, MAX_PARAM_VAL_LENGTH
LONGEST_TAG = 8000  # the same, MAX_TAG_VAL_LENGTH


class Parameter(BaseModel):
    """As Argo writes it into `{{workflow.parameters.json}}`, among other fields."""

    name: str
    value: str = ""


PARAMETERS = TypeAdapter(list[Parameter])


@dataclass(frozen=True)
class Recipe:
    parameters: dict[str, str]
    texts: dict[str, str]
    """File -> text, of the parameters that are too long for MLflow."""
    metrics: dict[str, float]
    tags: dict[str, str]


def recipe(inputs: PublishInput, card: ModelCard) -> Recipe:
    """Raises StepError (USAGE) when the workflow's parameters are not the list that Argo writes."""
    given = _parameters(inputs.parameters)
    long = {name: f"parameters/{name}.txt" for name, value in given.items() if len(value) > LONGEST_PARAMETER}
    return Recipe(
        parameters=given | {name: f"{len(given[name])} characters, in {file}" for name, file in long.items()},
        texts={file: given[name] for name, file in long.items()},
        metrics=_metrics(inputs, card),
        tags=_tags(inputs),
    )


def _parameters(text: str) -> dict[str, str]:
    try:
        return {one.name: values.decode(one.value, str) for one in PARAMETERS.validate_json(text)}
    except ValidationError as error:
        fault = f"{error.errors()[0]['loc']} {error.errors()[0]['msg']}"
        raise StepError(ExitCode.USAGE, f"--parameters: is not the list that Argo writes: {fault}") from None


def _metrics(inputs: PublishInput, card: ModelCard) -> dict[str, float]:
    training = {f"{Step.TRAIN}.{name}": value for name, value in card.training.items()}
    return training | {
        f"{gate}.{field}": value
        for gate, verdict in inputs.verdicts.items()
        for field in ("estimate", "bound", "threshold", "margin")
        if (value := getattr(verdict, field)) is not None
    }


def _tags(inputs: PublishInput) -> dict[str, str]:
    tags = {
        RUN_UID: inputs.run_uid,
        RUN: inputs.run,
        "argosy.revision": inputs.revision,
        "argosy.dataset": inputs.dataset,
        "argosy.dataset_hash": inputs.dataset_hash,
        "argosy.task": inputs.task,
        "argosy.image": inputs.image,
        "argosy.model_sha256": inputs.model_hash,
    }
    tags |= {f"argosy.gate.{gate}": verdict.reason[:LONGEST_TAG] for gate, verdict in inputs.verdicts.items()}
    return {name: value for name, value in tags.items() if value}
