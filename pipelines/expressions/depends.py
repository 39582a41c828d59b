"""`depends` and `dependencies` of a DAG's task (workflow/common/ancestry.go, workflow/controller/dag.go:928-1000)."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from argosy.pipelines.expressions import expr
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.expr_types import Struct
from argosy.pipelines.expressions.syntax import Node

_NAME = re.compile(r"([a-zA-Z0-9][-a-zA-Z0-9]*?)\.([A-Z][a-zA-Z]+)|([a-zA-Z0-9][-a-zA-Z0-9]*)")
_OF_ITEMS = ("AnySucceeded", "AllFailed")


class TaskResult(NamedTuple):
    """How a task ended. The last two look at the children that withItems, withParam or withSequence made."""

    Succeeded: bool = False
    Failed: bool = False
    Errored: bool = False
    Skipped: bool = False
    Omitted: bool = False
    Daemoned: bool = False
    AnySucceeded: bool = False
    AllFailed: bool = False


class ContinueOn(Protocol):
    """A task's continueOn: what else than success lets a task go on that names it without a result."""

    @property
    def error(self) -> bool: ...
    @property
    def failed(self) -> bool: ...


_NEVER: Mapping[str, ContinueOn] = MappingProxyType({})


def parse(depends: str) -> Node:
    """The syntax tree, with `_` for every `-`.

    Raises ExpressionError, with the column, for bad syntax and for a result that no task has.
    """
    for match in _NAME.finditer(depends):
        name, result, _ = match.groups()
        if result and result not in TaskResult._fields:
            allowed = ", ".join(TaskResult._fields)
            message = f"task result '{result}' for task '{name}' is invalid: it is one of {allowed}"
            raise ExpressionError(message, match.start(2) + 1)
    return expr.parse(_with_underscores(depends))


def names(depends: str) -> list[str]:
    """The tasks it names, each once, in order."""
    return list(dict.fromkeys(match[1] or match[3] for match in _NAME.finditer(depends)))


def names_of_items(depends: str) -> list[str]:
    """The tasks of which it asks AnySucceeded or AllFailed: Argo takes these from tasks with items only."""
    return list(dict.fromkeys(match[1] for match in _NAME.finditer(depends) if match[2] in _OF_ITEMS))


def expand(depends: str, continue_on: Mapping[str, ContinueOn] = _NEVER) -> str:
    """The same with every name that has no result written out."""
    return _NAME.sub(lambda match: _expanded(match[3], continue_on) if match[3] else match[0], depends)


def from_dependencies(dependencies: Sequence[str], continue_on: Mapping[str, ContinueOn] = _NEVER) -> str:
    """The `depends` that a list of `dependencies` stands for."""
    return " && ".join(_expanded(name, continue_on) for name in dependencies)


def evaluate(depends: str, results: Mapping[str, TaskResult], continue_on: Mapping[str, ContinueOn] = _NEVER) -> bool:
    """Whether a task runs, given how the tasks that it names ended. Raises ExpressionError in Argo's words."""
    logic = _with_underscores(expand(depends, continue_on))
    variables = {_with_underscores(name): Struct(result._asdict()) for name, result in results.items()}
    try:
        value = expr.evaluate(logic, variables)
    except ExpressionError as error:
        raise error.reworded(f"unable to evaluate expression '{logic}': {error}") from None
    if not isinstance(value, bool):
        raise ExpressionError(f"unable to evaluate expression '{logic}': its result is no boolean")
    return value


def _with_underscores(text: str) -> str:
    return text.replace("-", "_")


def _expanded(name: str, continue_on: Mapping[str, ContinueOn]) -> str:
    """Omitted is not among them, so that an omission spreads (ancestry.go:124-137)."""
    results = ["Succeeded", "Skipped", "Daemoned"]
    if policy := continue_on.get(name):
        results += ["Errored"] * policy.error + ["Failed"] * policy.failed
    return "(" + " || ".join(f"{name}.{result}" for result in results) + ")"
