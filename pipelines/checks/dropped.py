"""Templates that Hera leaves out of the manifest without a word."""

from collections.abc import Iterator, Mapping
from typing import Any

from hera.workflows import Workflow, models
from hera.workflows.protocol import Templatable

from argosy.pipelines.errors import Problem


def dropped_templates(workflow: Workflow, manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """Every template that a task was given is the one of that name in the workflow.

    Hera adds a task's template only if none of its name is there yet (hera: workflows/_context.py:101).
    """
    kept = {one.get("name"): one for one in (manifest.get("spec") or {}).get("templates") or []}
    known = {id(one) for one in workflow.templates}
    compared: set[int] = set()
    for caller in workflow.templates:
        for task in _tasks(caller):
            template = getattr(task, "template", None)
            if not isinstance(template, Templatable | models.Template) or id(template) in compared | known:
                continue
            compared.add(id(template))
            name = getattr(template, "name", None)
            if name in kept and _built(template) != kept[name]:
                ours, theirs = _difference(kept[name], _built(template))
                what = f"two templates have this name, one with {ours}, one with {theirs}"
                remedy = f"rename the one that {task.name} calls: Hera keeps the first alone"
                yield Problem(f"templates.{name}", what, remedy)


def _tasks(caller: Any) -> Iterator[Any]:  # noqa: ANN401 - a DAG's tasks, a Steps' steps, or neither
    yield from getattr(caller, "tasks", None) or []
    for group in getattr(caller, "sub_steps", None) or []:
        yield from getattr(group, "sub_steps", None) or [group]


def _built(template: Any) -> dict[str, Any]:  # noqa: ANN401 - a wrapper of Hera's or a model
    model = template if isinstance(template, models.Template) else template._build_template()  # noqa: SLF001 - Hera's protocol
    return model.model_dump(exclude_none=True, by_alias=True)


def _difference(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, str]:
    """The first thing that differs: an image, say."""
    for key in sorted(one.keys() | other.keys()):
        mine, theirs = one.get(key), other.get(key)
        if mine != theirs:
            if isinstance(mine, dict) and isinstance(theirs, dict):
                return _difference(mine, theirs)
            return f"{key} {mine}", f"{key} {theirs}"
    raise AssertionError("the templates are equal")
