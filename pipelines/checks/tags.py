"""Tags: `{{...}}` that name something which will be there when they are replaced."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from argosy.pipelines import names
from argosy.pipelines.checks.order import LOOPS, graph_of, is_after
from argosy.pipelines.checks.view import Invocation, Json, View, artifacts, parameters, siblings
from argosy.pipelines.errors import Problem
from argosy.pipelines.expressions import expr_parser
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.tags import tag_names

FACTS = ("id", "ip", "status", "startedAt", "finishedAt", "exitCode", "hostNodeName")
"""What Argo tells of a task besides its outputs (argo: workflow/controller/operator.go:3438)."""

CLOSE = "close it with }}, or encode the text with argosy.steps.values.encode"


def known(view: View) -> Iterator[Problem]:
    """Every tag names an input, a parameter, or an output that exists by the time it is read."""
    for template in view.templates:
        own = {key: part for key, part in template.items() if key not in ("dag", "steps")}
        where = f"templates.{template.get('name', 'inline')}"
        yield from _tags(_Place(view, template, where), own)
    graphs = {id(template): graph_of(template) for template in view.templates}
    for one in view.invocations:
        body = {key: part for key, part in one.body.items() if key not in ("inline", "hooks", "depends")}
        yield from _tags(_Place(view, one.caller, one.where, one, graphs[id(one.caller)]), body)


@dataclass(frozen=True)
class _Place:
    """Where a tag stands: in a template's own fields, or in one of its tasks."""

    view: View
    template: Json
    where: str
    task: Invocation | None = None
    graph: dict[str, list[str]] | None = None

    def problem(self, tag: str, what: str, remedy: str) -> Problem:
        return Problem(self.where, f"{{{{{tag}}}}}: {what}", remedy)


def _tags(place: _Place, part: Json) -> Iterator[Problem]:
    try:
        found = tag_names(part)
    except ExpressionError as error:
        yield Problem(place.where, str(error), CLOSE)
        return
    for tag in sorted(set(found)):
        if tag.startswith("="):
            yield from _expression(place, tag)
            continue
        if '"' in tag:  # Argo looks for the end in the JSON text of the whole, and finds some other
            what = f"the tag that begins {{{{{tag.partition(chr(34))[0]} is not closed"
            yield Problem(place.where, what, CLOSE)
            continue
        root, *path = tag.split(".")
        if root in ("tasks", "steps") and path[:1] != ["name"]:
            yield from _sibling(place, tag, root, path)
        elif root == "inputs" and len(path) > 1:
            kind, name = path[:2]
            held = {"parameters": parameters, "artifacts": artifacts}.get(kind, parameters)(
                place.template.get("inputs")
            )
            yield from _among(place, tag, name, [str(one.get("name")) for one in held], f"no such input {kind[:-1]}")
        elif root == "workflow":
            yield from _global(place, tag, path)
        elif root == "item" and place.task and not LOOPS & place.task.body.keys():
            yield place.problem(tag, "the task loops over nothing", "give it withItems, withParam or withSequence")


def _expression(place: _Place, tag: str) -> Iterator[Problem]:
    try:
        expr_parser.parse(tag.removeprefix("="))
    except ExpressionError as error:
        yield place.problem(tag, str(error), "see https://expr-lang.org for what can be written there")


def _global(place: _Place, tag: str, path: list[str]) -> Iterator[Problem]:
    view = place.view
    if path[:1] != ["parameters"] or not view.is_whole or view.kind not in ("Workflow", "CronWorkflow"):
        return
    declared = [str(one.get("name")) for one in parameters(view.spec.get("arguments"))]
    if path[1:] in ([], ["json"]):
        if not declared:
            yield place.problem(tag, "the workflow has no parameters", "give it one, such as revision")
        return
    yield from _among(place, tag, path[1], declared, "no such parameter of the workflow")


def _among(place: _Place, tag: str, name: str, found: Collection[str], what: str) -> Iterator[Problem]:
    if name not in found:
        yield place.problem(tag, what, names.suggestion(name, found, f"there are {', '.join(found) or 'none'}"))


def _sibling(place: _Place, tag: str, root: str, path: list[str]) -> Iterator[Problem]:
    name, *rest = path or [""]
    found = {str(one.get("name")): one for one in siblings(place.template)}
    other = found.get(name)
    if other is None:
        inner = next((one for one in found.values() if _has_step(place.view, one, name)), None)
        if inner is not None:
            yield place.problem(tag, f"{name} is a step of {inner['name']}", _export(str(inner["name"]), tag))
        else:
            yield from _among(place, tag, name, list(found), f"there is no such {root[:-1]}")
        return
    if place.task and not _is_before(place, name):
        yield place.problem(tag, f"{place.task.name} does not wait for {name}", _wait(root, name))
        return
    called = other.get("inline") or place.view.by_name.get(str(other.get("template")))
    if called is not None:
        yield from _output(place, tag, name, called, rest)


def _is_before(place: _Place, name: str) -> bool:
    assert place.task is not None
    if name in place.task.visible:
        return True
    return place.task.kind == "tasks" and is_after(place.graph or {}, place.task.name, name)


def _wait(root: str, name: str) -> str:
    return f"add {name} to depends" if root == "tasks" else f"move {name} into an earlier group"


def _output(place: _Place, tag: str, task: str, called: Json, rest: list[str]) -> Iterator[Problem]:
    match rest:
        case ["outputs", "parameters", name, *_]:
            found = [str(one.get("name")) for one in parameters(called.get("outputs"))]
            yield from _among(place, tag, name, found, f"{task} has no such output parameter")
        case ["outputs", "artifacts", name, *_]:
            found = [str(one.get("name")) for one in artifacts(called.get("outputs"))]
            yield from _among(place, tag, name, found, f"{task} has no such output artifact")
        case ["outputs", "result"] if siblings(called):
            yield place.problem(tag, f"{task} runs other steps, so it prints no result", _export(task, tag))
        case ["outputs", "result" | "exitCode" | "parameters"]:
            return
        case [fact] if fact in FACTS:
            return
        case _ if siblings(called):
            yield place.problem(tag, f"the steps within {task} cannot be seen from here", _export(task, tag))
        case _:
            known = ["outputs.result", "outputs.parameters.NAME", "outputs.artifacts.NAME", *FACTS]
            word = ".".join(rest)
            yield place.problem(tag, f"{task} has no such thing", names.suggestion(word, known, ", ".join(known)))


def _export(inner: str, tag: str) -> str:
    return f"export it from {inner}: an output parameter there with valueFrom.parameter, read here in place of {tag}"


def _has_step(view: View, task: Json, name: str) -> bool:
    called = task.get("inline") or view.by_name.get(str(task.get("template"))) or {}
    return any(one.get("name") == name for one in siblings(called))
