"""Loops: withItems, withParam and withSequence become children, and their outputs become lists.

(workflow/controller/steps.go:589, dag.go:863, operator.go:3537 and 3888)
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from argosy.pipelines.expressions import when
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.golang import any_string, marshal
from argosy.pipelines.expressions.golang_json import json_problem
from argosy.pipelines.expressions.tags import substitute_tree
from argosy.pipelines.local.scope import Scope, compact, html_escaped, layered
from argosy.pipelines.manifest import Json, Sequence, Task, convert
from argosy.pipelines.status import SUCCEEDED, Node

FORMAT = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<verb>[dxXob])")


class LoopError(ValueError):
    """A loop whose items cannot be had."""


def expand(task: Json, scope: Scope) -> list[Json]:
    """The tasks that a loop stands for, named `NAME(INDEX:ITEM)`.

    Unless it is skipped as a whole, nothing in it may be unknown by now (operator.go:3940). Raises LoopError,
    ExpressionError.
    """
    typed = convert(task, Task)
    strict = () if _is_skipped(typed.when) else ("",)
    body = {key: value for key, value in task.items() if key not in ("withItems", "withParam", "withSequence")}
    expanded = []
    for index, item in enumerate(_items_or_none_if_skipped(typed)):
        child = substitute_tree(body, layered(_item_variables(item), scope), strict)
        label = _label(item).replace("(", "").replace(")", "")
        expanded.append({**child, "name": f"{typed.name}({index}:{label})", "template": typed.template})
    return expanded


def aggregate(children: list[Node]) -> dict[str, str]:
    """The outputs of a loop's succeeded children as lists, in the order of the loop.

    Raises LoopError for a result that is no JSON: Argo cannot put plain text into a list (argo-workflows#10775).
    """
    outputs = [node.outputs for node in children if node.outputs and node.phase == SUCCEEDED and not node.is_hook]
    results = [_result(o.result) for o in outputs if o.result is not None]
    sets = [{p.name: p.value for p in o.parameters} for o in outputs if o.parameters]
    variables = {"outputs.result": compact(results), "outputs.parameters": compact(sets)}
    for name in dict.fromkeys(name for values in sets for name in values):
        column = [values[name] for values in sets if name in values]
        variables[f"outputs.parameters.{name}"] = _column(column)
    return variables


def _items_or_none_if_skipped(task: Task) -> list[Any]:
    """A loop that `when` skips as a whole need not have items (dag.go: expandTask)."""
    try:
        return list(_items(task))
    except LoopError:
        if not _is_skipped(task.when):
            raise
        return []


def _is_skipped(condition: str) -> bool:
    try:
        return bool(condition) and not when.evaluate(condition)
    except ExpressionError:
        return False


def _items(task: Task) -> Iterator[Any]:
    if task.with_items:
        yield from task.with_items
    elif task.with_sequence:
        yield from _sequence(task.with_sequence)
    else:
        text = (task.with_param or "").strip()
        try:
            items = json.loads(text, parse_int=_Number, parse_float=_Number)
        except json.JSONDecodeError as error:
            reason = json_problem(text, error)
            raise LoopError(f"withParam value could not be parsed as a JSON list: {text}: {reason}") from error
        if not isinstance(items, list | None):
            reason = f"json: cannot unmarshal {_kind(items)} into Go value of type []v1alpha1.Item"
            raise LoopError(f"withParam value could not be parsed as a JSON list: {text}: {reason}")
        yield from items or ()


def _sequence(sequence: Sequence) -> Iterator[str]:
    start = _whole(sequence.start) if sequence.start is not None else 0
    if sequence.end is not None:
        end = _whole(sequence.end)
    elif sequence.count is not None:
        count = _whole(sequence.count)
        if count == 0:
            return
        end = start + count - 1
    else:
        raise LoopError("neither end nor count was specified in withSequence")
    step = 1 if start <= end else -1
    for number in range(start, end + step, step):
        yield _formatted(sequence.format or "%d", number)


def _whole(value: str | float) -> int:
    try:
        return int(any_string(value))
    except ValueError as error:
        raise LoopError(f"withSequence: {value!r} is no whole number") from error


def _formatted(pattern: str, number: int) -> str:
    """Go's fmt.Sprintf for one whole number; its verbs d, x, X, o and b mean the same in Python's format language."""

    def one(match: re.Match[str]) -> str:
        flags, width, verb = match["flags"], match["width"], match["verb"]
        align = "<" if "-" in flags else "0" if "0" in flags else ""
        sign = "+" if "+" in flags else ""
        return format(number, f"{'<' if align == '<' else ''}{sign}{'0' if align == '0' else ''}{width}{verb}")

    return FORMAT.sub(one, pattern)


class _Number(str):
    """A number as it was written: `1.0` and `1e3` stay what they are."""

    __slots__ = ()


def _item_variables(item: Any) -> dict[str, str]:  # noqa: ANN401 - any JSON value
    if isinstance(item, dict):
        ordered = dict(sorted(item.items()))
        return {"item": html_escaped(_json(ordered))} | {f"item.{key}": _text(value) for key, value in ordered.items()}
    if isinstance(item, str):
        return {"item": item}
    return {"item": html_escaped(_json(item))}


def _label(item: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(item, dict):
        return ",".join(sorted(f"{key}:{_text(value)}" for key, value in item.items()))
    if isinstance(item, list):
        return "[" + " ".join(_text(value) for value in item) + "]"
    return _text(item)


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Go's %v of a wfv1.Item: a string without its quotes, its JSON escapes left (argo-workflows#16061)."""
    return _json(value).removeprefix('"').removesuffix('"')


def _json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """JSON as Go keeps it in a wfv1.Item: in the order and with the numbers of its text."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(key)}:{_json(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else marshal(value)


def _result(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        shown = text if len(text) <= 80 else text[:80] + "..."
        raise LoopError(
            f"outputs.result of a loop must be JSON, {shown!r} is not: {error}; print JSON, or use an output parameter"
        ) from error


def _column(values: list[str | None]) -> str:
    """Values that all are JSON lists or objects are put in as such; else all stay text (operator.go:3620)."""
    try:
        decoded = [json.loads(value or "") for value in values]
    except json.JSONDecodeError:
        return compact(values)
    return compact(decoded if all(isinstance(value, dict | list) for value in decoded) else values)


def _kind(value: object) -> str:
    return {dict: "object", str: "string", _Number: "number", bool: "bool"}[type(value)]
