"""What `run` and `submit` make of a manifest and the values that the user gives."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argosy.pipelines.commands.source import Source
    from argosy.pipelines.manifest import Json

REVISION = "revision"

FETCH = "fetch-code"
"""The init container that fetches code."""


def encoded(given: dict[str, str], document: "Json") -> dict[str, str]:
    """Values as argosy's steps read them, kept from Argo's substitution; any other workflow gets them as they are."""
    from argosy.steps import values

    if not is_argosys(document):
        return dict(given)
    is_ready = {name for name, text in given.items() if text == "null" or text.startswith(values.MARK)}
    return {name: text if name in is_ready else values.encode(text) for name, text in given.items()}


def is_argosys(document: "Json") -> bool:
    """Whether argosy made the manifest."""
    from argosy.pipelines.names import PIPELINE_LABEL

    return PIPELINE_LABEL in document["metadata"].get("labels", {})


def value_of(document: "Json", name: str) -> str | None:
    """A parameter's value; None where the manifest has no such parameter."""
    parameters = document["spec"].get("arguments", {}).get("parameters", [])
    return next((str(one.get("value") or "") for one in parameters if one["name"] == name), None)


def revision_of(document: "Json") -> str | None:
    """The commit that a run is of; None where the manifest has no such parameter."""
    return value_of(document, REVISION)


def needs_revision(document: "Json") -> bool:
    """Whether the parameter is argosy's to fill in, or to make whole."""
    given = revision_of(document)
    return given == "" or (given is not None and is_argosys(document))


def fetches_code(document: "Json") -> bool:
    """Whether its pods fetch the code at the revision; otherwise it is in the image."""
    templates = document["spec"].get("templates") or []
    return any(one.get("name") == FETCH for each in templates for one in each.get("initContainers") or [])


def image_of(document: "Json") -> str:
    """The image of its pods; empty where none names one."""
    containers = (one.get("container") or {} for one in document["spec"].get("templates") or [])
    return next((str(one["image"]) for one in containers if "image" in one), "")


def refuse_unfit(found: "Source", values: dict[str, str]) -> None:
    """Values that the steps of a pipeline would not take. Raises SpecError."""
    if found.is_python and (definition := found.definition.pipeline):
        from argosy.pipelines.commands import parameters, place

        parameters.refuse_unfit(definition, values, place.project())
