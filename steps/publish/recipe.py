"""What a registered model says of its making: files beside the model, and MLflow's parameters, metrics and tags."""

import json
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from argosy.steps import stored, values
from argosy.steps.contracts import ExitCode, Step
from argosy.steps.errors import StepError, data_error
from argosy.steps.exported_model import ModelCard
from argosy.steps.gates import Verdict
from argosy.steps.publish import tags
from argosy.steps.registry import PublishInput, Recipe

FOLDER = "recipe"
"""Folder of the recipe's files, beside the model's."""
RECIPE = "recipe.json"
"""All of the recipe but what is in files of its own, and the version's number, which comes after the files."""
MANIFEST = "manifest.yaml"
VERDICTS = "verdicts"
LONGEST_PARAMETER = 6000  # mlflow/utils/validation.py, MAX_PARAM_VAL_LENGTH


class Parameter(BaseModel):
    """As Argo writes it into `{{workflow.parameters.json}}`, among other fields."""

    name: str
    value: str = ""


PARAMETERS = TypeAdapter(list[Parameter])


@dataclass(frozen=True)
class Entries:
    """The recipe in the words of MLflow."""

    parameters: dict[str, str]
    texts: dict[str, str]
    """File -> text, of the parameters that are too long for MLflow."""
    metrics: dict[str, float]
    tags: dict[str, str]


def recipe(inputs: PublishInput, card: ModelCard) -> Recipe:
    """The recipe of a version that has no number yet: 0.

    Raises StepError (USAGE) when the workflow's parameters are not the list that Argo writes, or the manifest is not
    packed.
    """
    return Recipe(
        registered_model=inputs.registry,
        version=0,
        run=inputs.run,
        run_uid=inputs.run_uid,
        task=inputs.task,
        revision=inputs.revision,
        dataset=inputs.dataset,
        dataset_hash=inputs.dataset_hash,
        dataset_pin=inputs.dataset_pin,
        image=inputs.image,
        parameters=_parameters(inputs.parameters),
        model_hash=inputs.model_hash,
        training=card.training,
        verdicts=inputs.verdicts,
        machine=inputs.machine,
        packages=_packages(),
        manifest=_manifest(inputs.manifest),
    )


def _packages() -> dict[str, str]:
    """An installation that was interrupted leaves a package without a name."""
    named = {one.name: one.version for one in distributions() if one.name}
    return {name: named[name] for name in sorted(named, key=str.lower)}


def entries(made: Recipe, inputs: PublishInput) -> Entries:
    """What MLflow shows of a recipe."""
    given = made.parameters
    long = {name: f"parameters/{name}.txt" for name, value in given.items() if len(value) > LONGEST_PARAMETER}
    return Entries(
        parameters=given | {name: f"{len(given[name])} characters, in {file}" for name, file in long.items()},
        texts={file: given[name] for name, file in long.items()},
        metrics=_metrics(made),
        tags=_tags(made, inputs),
    )


def write(made: Recipe, folder: Path) -> None:
    """Puts the recipe's files into a new folder."""
    verdicts = folder / VERDICTS
    verdicts.mkdir(parents=True)
    for gate, verdict in made.verdicts.items():
        (verdicts / f"{gate}.json").write_text(verdict.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if made.manifest:
        (folder / MANIFEST).write_text(made.manifest, encoding="utf-8", newline="")
    elsewhere = {"version", "verdicts", "manifest"}
    (folder / RECIPE).write_text(made.model_dump_json(exclude=elsewhere, indent=2) + "\n", encoding="utf-8")


def read(folder: Path, version: int) -> Recipe:
    """The recipe of this version in a folder that `write` has filled. Raises StepError (DATA) for any other."""
    try:
        verdicts = {
            path.stem: Verdict.model_validate_json(path.read_bytes()) for path in (folder / VERDICTS).glob("*.json")
        }
        manifest = folder / MANIFEST
        fields = {
            "version": version,
            "verdicts": verdicts,
            "manifest": manifest.read_bytes().decode() if manifest.exists() else "",
        }
        return Recipe.model_validate(json.loads((folder / RECIPE).read_bytes()) | fields)
    except (OSError, ValueError) as error:  # a ValidationError and a JSONDecodeError are ValueErrors
        raise data_error(f"{FOLDER}/{RECIPE}: is no recipe: {' '.join(str(error).split())}") from None


def _parameters(text: str) -> dict[str, str]:
    try:
        return {one.name: values.decode(one.value, str) for one in PARAMETERS.validate_json(text)}
    except ValidationError as error:
        fault = f"{error.errors()[0]['loc']} {error.errors()[0]['msg']}"
        raise StepError(ExitCode.USAGE, f"--parameters: is not the list that Argo writes: {fault}") from None


def _manifest(word: str) -> str:
    try:
        return stored.unpacked(word) if word else ""
    except ValueError as error:
        raise StepError(ExitCode.USAGE, f"--manifest: {error}") from None


def _metrics(made: Recipe) -> dict[str, float]:
    training = {f"{Step.TRAIN}.{name}": value for name, value in made.training.items()}
    return training | {
        f"{gate}.{field}": value
        for gate, verdict in made.verdicts.items()
        for field in ("estimate", "bound", "threshold", "margin")
        if (value := getattr(verdict, field)) is not None
    }


def _tags(made: Recipe, inputs: PublishInput) -> dict[str, str]:
    named = {
        tags.RUN_UID: made.run_uid,
        tags.RUN: made.run,
        tags.ALIAS: inputs.alias,
        "argosy.revision": made.revision,
        "argosy.dataset": made.dataset,
        "argosy.dataset_hash": made.dataset_hash,
        "argosy.task": made.task,
        "argosy.image": made.image,
        "argosy.seed": inputs.seed,
        "argosy.machine": made.machine,
        tags.MODEL_HASH: made.model_hash,
    }
    named |= {f"{tags.GATE}{gate}": verdict.reason for gate, verdict in made.verdicts.items()}
    return {name: value[: tags.LONGEST] for name, value in named.items() if value}
