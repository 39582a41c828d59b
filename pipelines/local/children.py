"""What DAG and steps templates share: running a child, and reading what finished children gave."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from argosy.pipelines import status as s
from argosy.pipelines.expressions.golang import any_string
from argosy.pipelines.local import tasks
from argosy.pipelines.local.loops import aggregate
from argosy.pipelines.local.scope import node_variables
from argosy.pipelines.local.tree import Tree
from argosy.pipelines.manifest import Arguments, Json, convert
from argosy.pipelines.status import File, Node

if TYPE_CHECKING:
    from argosy.pipelines.local.engine import Engine, Place

# A pod's output is captured only where its parent's text names it (operator.go:3316).
_RESULT = re.compile(r"(?:tasks|steps)(?:\.([\w-]+)|\[['\\\"]+([\w-]+)['\\\"]+\])\.outputs\.result")


async def run_child(engine: "Engine", name: str, task: Json, place: "Place") -> Node:
    """Run one task, step or loop child: skip it if its `when` says so, else execute its template.

    Raises TemplateError, whose node exists.
    """
    tree = engine.tree
    if (known := tree.get(name)) and known.is_fulfilled:
        return known
    if tasks.skips(task):
        return tree.add(
            name,
            s.SKIPPED_NODE,
            s.SKIPPED,
            boundary=place.boundary,
            template=task["template"],
            message=tasks.skip_message(task),
        )
    return await engine.execute(name, task["template"], convert(task.get("arguments", {}), Arguments), place)


def results_referenced(template: Json) -> frozenset[str]:
    """The children whose standard output the template names."""
    return frozenset(dotted or quoted for dotted, quoted in _RESULT.findall(json.dumps(template)))


def variables(node: Node, tree: Tree) -> dict[str, str]:
    """What others may know of a finished child; of a loop, its children's outputs as lists. Raises LoopError."""
    if node.type == s.TASK_GROUP:
        children = [tree.status.nodes[child] for child in node.children]
        return node_variables(node) | aggregate(children)
    return node_variables(_last_attempt(node, tree))


def hook_variables(node: Node, tree: Tree) -> dict[str, str]:
    """What an exit hook may know of its own node: less than later tasks and steps may (exit_handler.go:54)."""
    outputs = _last_attempt(node, tree).outputs
    given = outputs.parameters if outputs else []
    return {"status": node.phase} | {f"outputs.parameters.{p.name}": p.value or "" for p in given}


def files(node: Node, tree: Tree) -> dict[str, File]:
    outputs = _last_attempt(node, tree).outputs
    return {f"outputs.artifacts.{file.name}": file for file in outputs.artifacts} if outputs else {}


def defaults(node: Node, template: Json) -> Mapping[str, str | None]:
    """The output parameters of a child that did not run: their defaults, None for one without."""
    if node.phase not in (s.SKIPPED, s.OMITTED):
        return {}
    declared = convert(template.get("outputs", {}), Arguments).parameters
    values = {p.name: p.value_from.default if p.value_from else None for p in declared}
    return {f"outputs.parameters.{k}": None if v is None else any_string(v) for k, v in values.items()}


def input_files(node: Node) -> dict[str, File]:
    """The artifacts that the DAG or steps template itself was given."""
    return {f"inputs.artifacts.{file.name}": file for file in node.inputs.artifacts} if node.inputs else {}


def _last_attempt(node: Node, tree: Tree) -> Node:
    attempts = tree.attempts(node) if node.type == s.RETRY else []
    return attempts[-1] if attempts else node
