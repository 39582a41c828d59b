"""What DAG tasks and steps have in common: references resolved, conditions judged, loops expanded."""

from collections.abc import Mapping
from typing import TypeVar, cast

from argosy.pipelines.expressions import when
from argosy.pipelines.expressions.errors import ExpressionError, UnresolvedTag
from argosy.pipelines.expressions.tags import substitute_tree
from argosy.pipelines.local import loops, outputs
from argosy.pipelines.local.inputs import InputError
from argosy.pipelines.local.locks import LockError
from argosy.pipelines.local.loops import LoopError
from argosy.pipelines.local.outputs import OutputError
from argosy.pipelines.local.retry import AmountError
from argosy.pipelines.local.scope import AbsentOutputError, Scope
from argosy.pipelines.manifest import Artifact, Json, ManifestError, Task, convert
from argosy.pipelines.status import File

SIBLINGS = ("tasks", "steps")

T = TypeVar("T")


class TaskError(ValueError):
    """A task whose references cannot be resolved."""


MISTAKES = (
    AbsentOutputError,
    AmountError,
    ExpressionError,
    InputError,
    LockError,
    LoopError,
    ManifestError,
    OutputError,
    TaskError,
)
"""What a definition's own mistakes raise: the node that met one ends in Error, with the mistake as its message."""


def resolve(task: Json, scope: Scope, files: Mapping[str, File]) -> Json:
    """A task with everything in it resolved that can be. One that `when` skips is left as it is beyond `when`.

    Raises TaskError, ExpressionError, OutputError.
    """
    resolved = {**task}
    if "when" in task:
        resolved["when"] = _substituted(task["when"], scope)
        if skips(resolved):
            return resolved
    hooks = {key: resolved.pop(key) for key in ("hooks", "onExit") if key in resolved}
    resolved = _without_absent(resolved, scope)
    resolved = _substituted(resolved, scope) | hooks
    arguments = resolved.get("arguments", {})
    return {**resolved, "arguments": _with_files(arguments, scope, files)} if arguments else resolved


def resolve_arguments(arguments: Json, scope: Scope, files: Mapping[str, File]) -> Json:
    """An exit hook's arguments; what cannot be resolved stays as it is (exit_handler.go:81).

    Raises ExpressionError, OutputError.
    """
    return _with_files(substitute_tree(arguments, scope), scope, files)


def skips(task: Json) -> bool:
    """Whether `when` says that the task need not run. Raises ExpressionError, unless the task is a loop: its
    condition may name the item.
    """
    condition = task.get("when")
    if not condition:
        return False
    try:
        return not when.evaluate(condition)
    except ExpressionError:
        if convert(task, Task).is_loop:
            return False
        raise


def skip_message(task: Json) -> str:
    return f"when '{task['when']}' evaluated false"


def expand(task: Json, scope: Scope) -> list[Json]:
    """The tasks that this one stands for: itself, or a loop's children. Raises LoopError, ExpressionError."""
    return loops.expand(task, scope) if convert(task, Task).is_loop else [task]


def _substituted(tree: T, scope: Scope) -> T:
    try:
        return cast("T", substitute_tree(tree, scope, strict_prefixes=SIBLINGS))
    except AbsentOutputError as error:
        raise TaskError(f"output is an absent optional: {error}") from error
    except UnresolvedTag as error:
        raise TaskError(
            f"{error}: no finished step gave it, and Argo would wait for it for ever; "
            "name an output that the step declares, of a step that this one depends on"
        ) from error


def _without_absent(task: Json, scope: Scope) -> Json:
    """An argument that is nothing but an absent output is left out, so that the consumer's own default counts."""
    arguments = task.get("arguments", {})
    parameters = [p for p in arguments.get("parameters", []) if not _is_absent(p.get("value"), scope)]
    return {**task, "arguments": {**arguments, "parameters": parameters}} if arguments else task


def _is_absent(value: object, scope: Scope) -> bool:
    text = str(value).strip()
    if not (text.startswith("{{") and text.endswith("}}")):
        return False
    try:
        scope.get(text[2:-2].strip())
    except AbsentOutputError:
        return True
    return False


def _with_files(arguments: Json, scope: Scope, files: Mapping[str, File]) -> Json:
    if not arguments.get("artifacts"):
        return arguments
    artifacts = [_located(artifact, scope, files) for artifact in arguments["artifacts"]]
    return {**arguments, "artifacts": [artifact for artifact in artifacts if artifact is not None]}


def _located(artifact: Json, scope: Scope, files: Mapping[str, File]) -> Json | None:
    typed = convert(artifact, Artifact)
    if not (typed.source or typed.from_expression):
        return artifact
    found = outputs.resolved(typed, scope, files)
    if found is None:
        return None
    kept = {key: value for key, value in artifact.items() if key not in ("from", "fromExpression")}
    location = {"s3": found.s3} if found.s3 else {"raw": found.raw}
    return {**kept, **location}
