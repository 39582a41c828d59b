"""A recorded manifest, to be run again: with what was recorded, and without what would change the registry."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from argosy.pipelines import manifest as m
from argosy.pipelines.comparison.origin import DATASET, PIN, REVISION
from argosy.pipelines.manifest import Json
from argosy.steps import values
from argosy.steps.contracts import Step

if TYPE_CHECKING:
    from argosy.steps.pins import Pin
    from argosy.steps.registry import Recipe

MAKES_AGAIN = "argosy/makes-again"
"""Annotation of a run: the model that it makes again."""
NAME = "again"
"""Ends the name of a run that makes a model again."""


class NotAgainError(ValueError):
    """A recipe by which nothing can be made again, and why."""


def manifest(recipe: "Recipe") -> Json:
    """The recorded manifest up to its gates: what publishes, asks a person or looks at the registry is left out.

    Raises NotAgainError for a recipe without manifest, ManifestError for one that is none.
    """
    if not recipe.manifest:
        raise NotAgainError("its recipe holds no manifest; it was published by an argosy that kept none")
    document = m.read(recipe.manifest)
    templates = document["spec"]["templates"]
    left_out = {one["name"] for one in templates if _is_left_out(one)}
    kept = [_without_tasks(one, left_out) for one in templates if one["name"] not in left_out]
    metadata = document["metadata"]
    base = (metadata.get("name") or metadata.get("generateName", "")).rstrip("-") or "run"
    model = f"models:/{recipe.registered_model}/{recipe.version}"
    annotations = {**(metadata.get("annotations") or {}), MAKES_AGAIN: model}
    return {
        **document,
        "metadata": {
            **_without(metadata, "name"),
            "generateName": f"{base}-{NAME}-",
            "annotations": annotations,
        },
        "spec": {**document["spec"], "templates": kept},
    }


def parameters(document: Json, recipe: "Recipe", pin: "Pin | None", revision: str) -> dict[str, str]:
    """The recorded values as the manifest takes them, with this data and this revision; no pin: it has to be found."""
    known = {one["name"] for one in document["spec"].get("arguments", {}).get("parameters") or []}
    given: dict[str, object] = {**recipe.parameters, DATASET: recipe.dataset, REVISION: revision, PIN: pin or ""}
    return {name: values.encode(value) for name, value in given.items() if name in known}


def _is_left_out(template: Json) -> bool:
    """Whether it is a template of argosy's that publishes or compares with the champion, or waits for a person."""
    words = (template.get("container") or {}).get("args") or []
    return "suspend" in template or (bool(words) and words[0] in (Step.PUBLISH, Step.CHAMPION_GATE))


def _without_tasks(template: Json, templates: set[str]) -> Json:
    """Nothing depends on what is left out, but what is left out itself."""
    if "dag" not in template:
        return template
    tasks = [task for task in template["dag"]["tasks"] if task.get("template") not in templates]
    return {**template, "dag": {**template["dag"], "tasks": tasks}}


def _without(mapping: Mapping[str, object], name: str) -> Json:
    return {key: value for key, value in mapping.items() if key != name}
