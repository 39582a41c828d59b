"""Order: what runs after what, and who may read whose outputs."""

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from argosy.pipelines import names
from argosy.pipelines.checks.view import Json, View
from argosy.pipelines.errors import Problem, excerpt
from argosy.pipelines.expressions import depends
from argosy.pipelines.expressions.errors import ExpressionError

LOOPS = {"withItems", "withParam", "withSequence"}


def dependencies(task: Json) -> list[str]:
    """The tasks that a task waits for, in the order written. Raises ExpressionError."""
    if written := task.get("depends"):
        depends.parse(written)
        return depends.names(written)
    return list(task.get("dependencies") or [])


def known_dependencies(view: View) -> Iterator[Problem]:
    """Tasks depend on tasks of the same DAG, in one notation."""
    for template in view.templates:
        tasks = {task.get("name"): task for task in (template.get("dag") or {}).get("tasks") or []}
        uses_depends = any(task.get("depends") for task in tasks.values())
        for name, task in tasks.items():
            where = f"{template.get('name', 'inline')}.{name}"
            if uses_depends and task.get("dependencies"):
                yield Problem(f"{where}.dependencies", "another task uses depends", "write depends here too")
            if uses_depends and "continueOn" in task:  # workflow/validate/validate.go:1389
                yield Problem(f"{where}.continueOn", "is not heeded beside depends", "write TASK.Failed in depends")
            try:
                needed = dependencies(task)
            except ExpressionError as error:
                yield Problem(
                    f"{where}.depends", f"{excerpt(task['depends'])}: {error}", "write it as A.Succeeded && B"
                )
                continue
            for other in depends.names_of_items(task.get("depends", "")):
                if other in tasks and not LOOPS & tasks[other].keys():
                    what = f"{other} loops over nothing, so there is no AnySucceeded or AllFailed"
                    yield Problem(f"{where}.depends", what, f"write {other}.Succeeded or {other}.Failed")
            for other in needed:
                if other not in tasks:
                    known = f"the tasks are {', '.join(map(str, tasks))}"
                    remedy = names.suggestion(other, map(str, tasks), known)
                    yield Problem(f"{where}.depends", f"there is no task {other}", remedy)


def cycles(view: View) -> Iterator[Problem]:
    """No task waits for itself."""
    for template in view.templates:
        graph = graph_of(template)
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            yield Problem(
                template.get("name", "inline"), f"the tasks wait for each other: {circle}", "remove one arrow"
            )


def targets(view: View) -> Iterator[Problem]:
    """What a DAG is to reach are tasks of its own (argo: workflow/validate/validate.go:1525)."""
    for template in view.templates:
        dag = template.get("dag") or {}
        found = [str(task.get("name")) for task in dag.get("tasks") or []]
        for target in (dag.get("target") or "").split():
            if "{{" not in target and target not in found:
                remedy = names.suggestion(target, found, f"the tasks are {', '.join(found)}")
                yield Problem(f"{template.get('name', 'inline')}.target", f"there is no task {target}", remedy)


def graph_of(template: Json) -> dict[str, list[str]]:
    """Task -> the tasks it waits for; a `depends` that cannot be read counts as none."""
    graph: dict[str, list[str]] = {}
    for task in (template.get("dag") or {}).get("tasks") or []:
        try:
            graph[str(task.get("name"))] = dependencies(task)
        except ExpressionError:
            graph[str(task.get("name"))] = []
    return graph


def is_after(graph: Mapping[str, list[str]], task: str, other: str) -> bool:
    """Whether a task waits, directly or through others, for another."""
    seen: set[str] = set()
    waiting = list(graph.get(task, ()))
    while waiting:
        one = waiting.pop()
        if one == other:
            return True
        if one not in seen:
            seen.add(one)
            waiting += graph.get(one, ())
    return False
