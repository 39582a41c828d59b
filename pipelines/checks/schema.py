"""Argo's own schema: every field is known and of the right type."""

from collections.abc import Iterator, Mapping
from typing import Any

from hera.workflows import models
from pydantic import BaseModel, ValidationError

from argosy.pipelines import names
from argosy.pipelines.checks.view import View
from argosy.pipelines.errors import Problem

KINDS: dict[str, type[BaseModel]] = {
    "Workflow": models.Workflow,
    "WorkflowTemplate": models.WorkflowTemplate,
    "ClusterWorkflowTemplate": models.ClusterWorkflowTemplate,
    "CronWorkflow": models.CronWorkflow,
}


def fields(view: View) -> Iterator[Problem]:
    """The manifest has the fields that Argo knows, with values of their types."""
    model = KINDS.get(view.kind)
    if model is None:
        yield Problem("kind", f"{view.kind!r} is none that argosy knows", f"write one of {', '.join(KINDS)}")
        return
    try:
        known = model.model_validate(view.manifest)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            where = ".".join(str(part) for part in detail["loc"])
            yield Problem(where, f"{detail['input']!r}: {detail['msg']}", "see Argo's field reference")
        return
    yield from _unknown(view.manifest, known, "")


def _unknown(given: Any, known: Any, where: str) -> Iterator[Problem]:  # noqa: ANN401 - any part of a manifest
    """Fields that are given but that the model, which ignores what it does not know, has not taken."""
    if isinstance(known, BaseModel) and isinstance(given, Mapping):
        taken = {info.alias or name: name for name, info in type(known).model_fields.items()}
        if not taken:  # a plugin's settings are the plugin's own
            return
        for key, value in given.items():
            place = f"{where}.{key}".lstrip(".")
            if key in taken:
                yield from _unknown(value, getattr(known, taken[key]), place)
            elif key not in type(known).model_fields and "root" not in taken:
                remedy = names.suggestion(key, taken, "remove it: Argo would ignore it")
                yield Problem(place, f"{type(known).__name__} has no such field", remedy)
    elif isinstance(known, list) and isinstance(given, list):
        for position, (one, other) in enumerate(zip(given, known, strict=True)):
            yield from _unknown(one, other, f"{where}.{_title(one, position)}")


def _title(part: Any, position: int) -> str:  # noqa: ANN401 - any item of a list
    return str(part.get("name", position)) if isinstance(part, Mapping) else str(position)
