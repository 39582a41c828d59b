"""What a run or a registered model was made of, and what came out: read from either, to be compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argosy.pipelines import manifest as m
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Run
from argosy.pipelines.views import answers
from argosy.steps import values

if TYPE_CHECKING:
    from argosy.steps.gates import Verdict
    from argosy.steps.pins import Pin
    from argosy.steps.registry import Recipe

REVISION, DATASET, PIN = "revision", "dataset", "dataset-pin"
OF_ITS_OWN = {REVISION, DATASET, PIN}
"""Parameters that are no setting: they say which code and data."""
MANIFEST = "--manifest="
"""The argument in which a manifest holds itself."""


@dataclass(frozen=True)
class Origin:
    """Everything that two trainings may differ in. What is not known is empty."""

    name: str
    """As the user called it."""
    revision: str
    pin: "Pin | None"
    parameters: Mapping[str, str]
    image: str
    machine: str
    packages: Mapping[str, str]
    templates: Mapping[str, Json]
    """Name -> template, without the manifest that one of them holds."""
    model_hash: str
    training: Mapping[str, float]
    """What was measured in training."""
    verdicts: Mapping[str, "Verdict"] = field(default_factory=dict)


def of_recipe(name: str, recipe: "Recipe") -> Origin:
    """Raises ManifestError for a stored manifest that is none."""
    from argosy.steps.contracts import option

    return Origin(
        name=name,
        revision=recipe.revision,
        pin=_pin(recipe.dataset_pin),
        parameters=_settings(recipe.parameters),
        image=recipe.image,
        machine=recipe.machine,
        packages=recipe.packages,
        templates=_templates(m.read(recipe.manifest)) if recipe.manifest else {},
        model_hash=recipe.model_hash,
        training={option(name): value for name, value in recipe.training.items() if option(name) not in _NO_RESULTS},
        verdicts=recipe.verdicts,
    )


def of_run(workflow: Json, run: Run) -> Origin:
    """Of a run as far as it has come."""
    parameters = {name: str(values.decode(text, str)) for name, text in run.parameters.items()}
    training = next(iter(answers.found(run, "training").values()), {})
    staged = next(iter(answers.found(run, "dataset").values()), {})
    gates = answers.found(run, "gate")
    templates = _templates(workflow)
    return Origin(
        name=run.name,
        revision=parameters.get(REVISION, ""),
        pin=_pin(staged.get("dataset-pin") or parameters.get(PIN, "")),
        parameters=_settings(parameters),
        image=_image(templates),
        machine=str(training.get("machine") or ""),
        packages={},
        templates=templates,
        model_hash=str(training.get("model-hash") or ""),
        training={name: float(value) for name, value in training.items() if _is_measured(name, value)},
        verdicts={name: _verdict(outputs["verdict"]) for name, outputs in gates.items()},
    )


def _settings(parameters: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if name not in OF_ITS_OWN}


def _pin(given: object) -> "Pin | None":
    """Of a text or what JSON makes of it; None for what is no pin, as an empty text is not."""
    from pydantic import ValidationError

    from argosy.steps.pins import Pin

    try:
        return Pin.model_validate_json(given) if isinstance(given, str) else Pin.model_validate(given)
    except ValidationError:
        return None


def _verdict(given: object) -> "Verdict":
    from argosy.steps.gates import Verdict

    return Verdict.model_validate(given)


_NO_RESULTS = {"seconds", "steps", "resumed-at-step", "save-seconds", "stall-seconds", "samples-per-second"}
"""What says how a training went, and nothing of what came out."""


def _is_measured(name: str, value: Any) -> bool:  # noqa: ANN401 - any output
    return name not in _NO_RESULTS and isinstance(value, int | float) and not isinstance(value, bool)


def _templates(workflow: Json) -> dict[str, Json]:
    return {one["name"]: _without_manifest(one) for one in workflow.get("spec", {}).get("templates") or []}


def _without_manifest(template: Json) -> Json:
    container = template.get("container")
    if not container:
        return template
    words = [MANIFEST if str(word).startswith(MANIFEST) else word for word in container.get("args") or []]
    return {**template, "container": {**container, "args": words}}


def _image(templates: Mapping[str, Json]) -> str:
    containers = (one.get("container") or {} for one in templates.values())
    return next((str(one["image"]) for one in containers if "image" in one), "")
