"""Calls: every template that is named exists, and gets the arguments that it takes."""

from collections.abc import Iterator

from argosy.pipelines import names
from argosy.pipelines.checks.view import Json, View, artifacts, parameters
from argosy.pipelines.errors import Problem


def entrypoint(view: View) -> Iterator[Problem]:
    """A workflow begins at a template that exists and that the workflow's arguments suffice for."""
    name = view.spec.get("entrypoint")
    if not name:
        if view.is_whole and view.kind in ("Workflow", "CronWorkflow"):
            known = ", ".join(view.by_name)
            yield Problem("entrypoint", "is missing", f"name the template to begin with: {known}")
        return
    yield from _unknown("entrypoint", name, view)
    if template := view.by_name.get(name):
        given = {one.get("name") for one in parameters(view.spec.get("arguments"))}
        for one in parameters(template.get("inputs")):
            if _is_required(one) and one.get("name") not in given and view.kind == "Workflow":
                yield Problem(f"templates.{name}.inputs.{one.get('name')}", "gets no value", "give it a default")


def exit_handlers(view: View) -> Iterator[Problem]:
    """The templates that run at the end, or at another event of the whole, exist."""
    if name := view.spec.get("onExit"):
        yield from _unknown("onExit", name, view)
    for event, hook in (view.spec.get("hooks") or {}).items():
        if name := hook.get("template"):
            yield from _unknown(f"hooks.{event}.template", name, view)


def called_templates(view: View) -> Iterator[Problem]:
    """Every task calls a template that exists."""
    for one in view.invocations:
        if name := one.body.get("template"):
            yield from _unknown(f"{one.where}.template", name, view)
        if name := one.body.get("onExit"):
            yield from _unknown(f"{one.where}.onExit", name, view)


def _unknown(where: str, name: str, view: View) -> Iterator[Problem]:
    if view.is_whole and name not in view.by_name and "{{" not in name:
        known = f"the templates are {', '.join(view.by_name)}"
        yield Problem(where, f"there is no template {name}", names.suggestion(name, view.by_name, known))


def arguments(view: View) -> Iterator[Problem]:
    """Every task gives the arguments that its template takes, and no other."""
    for one in view.invocations:
        template = view.called(one)
        if template is None:
            continue
        inputs = {str(held.get("name")): held for held in parameters(template.get("inputs"))}
        given = [str(held.get("name")) for held in one.arguments]
        called = template.get("name", "its template")
        for name in given:
            if name not in inputs:
                known = f"{called} takes {', '.join(inputs) or 'nothing'}"
                what = f"{called} takes no such argument"
                yield Problem(f"{one.where}.{name}", what, names.suggestion(name, inputs, known))
        for name in sorted({name for name in given if given.count(name) > 1}):
            yield Problem(f"{one.where}.{name}", "is given twice", "leave one")
        for name, held in inputs.items():
            if name not in given and _is_required(held):
                yield Problem(f"{one.where}.{name}", f"{called} needs it and gets no value", "give it, or a default")


def artifact_arguments(view: View) -> Iterator[Problem]:
    """Every task gives the artifacts that its template takes."""
    for one in view.invocations:
        template = view.called(one)
        if template is None:
            continue
        given = {str(held.get("name")) for held in artifacts(one.body.get("arguments"))}
        for held in artifacts(template.get("inputs")):
            name = str(held.get("name"))
            has_location = held.keys() - {"name", "path", "mode", "optional", "archive", "recurseMode", "description"}
            if name not in given and not has_location and not held.get("optional"):
                what = f"{template.get('name', 'its template')} needs this artifact and gets none"
                yield Problem(f"{one.where}.{name}", what, "give it, or mark the input optional")


def _is_required(parameter: Json) -> bool:
    return not {"default", "value", "valueFrom"} & parameter.keys()
