"""Argo's own schema: every field is known and of the right type."""

from collections.abc import Iterator, Mapping
from typing import Any

from hera.workflows import models
from pydantic import BaseModel, ValidationError

from argosy.pipelines import names
from argosy.pipelines.checks.view import View
from argosy.pipelines.errors import Problem, excerpt
from argosy.pipelines.expressions.golang import any_string

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
        yield Problem("kind", f"{excerpt(view.kind)} is none that argosy knows", f"write one of {', '.join(KINDS)}")
        return
    try:
        known = model.model_validate(_with_texts(view.manifest, {}))
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            where = ".".join(str(part) for part in detail["loc"])
            yield Problem(where, f"{excerpt(detail['input'])}: {detail['msg']}", "see Argo's field reference")
        return
    yield from _unknown(view.manifest, known, "")


def _with_texts(part: Any, done: dict[int, Any]) -> Any:  # noqa: ANN401 - any part of a manifest
    """The manifest with its parameters' numbers as text: Argo takes any scalar there (anystring.go), the model not.

    `done` keeps what YAML's aliases share shared.
    """
    if not isinstance(part, list | Mapping):
        return part
    if id(part) not in done:
        if isinstance(part, list):
            done[id(part)] = [_with_texts(item, done) for item in part]
        else:
            done[id(part)] = {key: _with_texts(value, done) for key, value in part.items()}
            _write_out(done[id(part)].get("parameters"))
    return done[id(part)]


def _write_out(parameters: Any) -> None:  # noqa: ANN401 - what stands there may be anything
    for parameter in parameters if isinstance(parameters, list) else ():
        for key in ("value", "default") if isinstance(parameter, dict) else ():
            if isinstance(parameter.get(key), bool | int | float):
                parameter[key] = any_string(parameter[key])


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
