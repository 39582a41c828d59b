"""DAG templates: each task waits for its dependencies, then decides whether and what to run.

(workflow/controller/dag.go, workflow/common/ancestry.go)
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from argosy.pipelines import status as s
from argosy.pipelines.expressions import depends
from argosy.pipelines.expressions.depends import TaskResult
from argosy.pipelines.local import children, outputs, tasks
from argosy.pipelines.local.ancestry import Ancestry
from argosy.pipelines.local.errors import TemplateError
from argosy.pipelines.local.scope import Scope, Siblings, layered
from argosy.pipelines.manifest import Json, Task, Template
from argosy.pipelines.status import File, Node

if TYPE_CHECKING:
    from argosy.pipelines.local.engine import Engine, Place


class DagExecution:
    """One execution of one DAG template, whose own node is running."""

    def __init__(self, engine: "Engine", node: Node, ready: Json, template: Template, place: "Place") -> None:
        assert template.dag is not None
        self._engine = engine
        self._tree = engine.tree
        self._node = node
        self._template = template
        self._dag = template.dag
        self._place = place
        self._json: dict[str, Json] = {task["name"]: task for task in ready["dag"]["tasks"]}
        self._tasks: dict[str, Task] = {task.name: task for task in self._dag.tasks}
        self._logic = {task.name: _logic(task, self._tasks) for task in self._dag.tasks}
        self._dependencies = {name: depends.names(logic) if logic else [] for name, logic in self._logic.items()}
        self._results = children.results_referenced(self._engine.template(template.name))
        self._finished: dict[str, asyncio.Task[None]] = {}
        self._ancestry = Ancestry(self._dependencies)

    async def run(self) -> None:
        """Run all tasks that the targets need, then give the DAG its phase and outputs."""
        targets = self._dag.target.split() or self._leaves()
        needed = self._ancestry.with_ancestors(targets)
        for name in needed:
            self._finished[name] = asyncio.ensure_future(self._task(name))
        await asyncio.gather(*self._finished.values())
        if not all(map(self._is_fulfilled, needed)):
            return  # a person must release one
        self._node.outbound_nodes = [end.id for name in targets for end in self._ends(name)]
        phase = self._phase(targets, needed)
        if phase == s.SUCCEEDED:
            try:
                self._node.outputs = outputs.of_children(self._template, self._scope(needed), self._files(needed))
            except tasks.MISTAKES as error:
                self._tree.mark(self._node, s.ERROR, str(error))
                return
        self._tree.mark(self._node, phase)

    async def _task(self, name: str) -> None:
        for dependency in self._dependencies[name]:
            await asyncio.shield(self._finished[dependency])
        if not all(map(self._is_fulfilled, self._dependencies[name])):
            return
        logic = self._logic[name]
        node = self._tree.get(self._name(name))
        if node is None or not node.is_fulfilled:
            try:
                if logic and not depends.evaluate(logic, self._outcomes(name)):
                    self._end(name, s.OMITTED, "omitted: depends condition not met")
                    return
                node = await self._begin(name)
            except tasks.MISTAKES as error:
                self._end(name, s.ERROR, str(error))
                return
        await self._exit_hook(name, node)

    async def _exit_hook(self, name: str, node: Node) -> None:
        """Run a task's exit hook for the task's own node, or for that of a loop's child."""
        if hook := self._tasks[name].exit_hook:
            own = Siblings("tasks", [name], lambda _: children.hook_variables(node, self._tree))
            ancestors = self._ancestry.of(name)
            files = Siblings("tasks", [name], lambda _: children.files(node, self._tree))
            await self._engine.exit_hook(
                hook,
                node,
                self._place,
                layered(own, self._scope(ancestors)),
                layered(files, self._files(ancestors)),
            )

    async def _begin(self, name: str) -> Node:
        """Resolve a task whose dependencies allow it, and run what it stands for."""
        scope = self._scope(self._ancestry.of(name))
        resolved = tasks.resolve(self._json[name], scope, self._files(self._ancestry.of(name)))
        expanded = tasks.expand(resolved, scope)
        if not self._tasks[name].is_loop:
            self._connect(name)
            return await self._child(name, expanded[0])
        if not expanded:
            return self._end(name, s.SKIPPED, "Skipped, empty params")
        self._connect(name)
        task_group = self._tree.get(self._name(name)) or self._add(name, s.TASK_GROUP, s.RUNNING)
        for child in expanded:
            self._tree.connect(task_group, self._name(child["name"]))
        nodes = await asyncio.gather(*(self._loop_child(name, child) for child in expanded))
        if not all(node.is_fulfilled for node in nodes):
            return task_group
        unsuccessful = [node.phase for node in nodes if node.is_unsuccessful]
        return self._tree.mark(task_group, unsuccessful[-1] if unsuccessful else s.SUCCEEDED)

    async def _loop_child(self, name: str, task: Json) -> Node:
        node = await self._child(name, task)
        await self._exit_hook(name, node)
        return node

    async def _child(self, name: str, task: Json) -> Node:
        place = replace(
            self._place, task_variables=(("tasks.name", task["name"]),), captures_result=name in self._results
        )
        node_name = self._name(task["name"])
        try:
            return await children.run_child(self._engine, node_name, task, place)
        except TemplateError as error:
            return self._failed(node_name, name, f"task '{node_name}' errored: {error}")
        except tasks.MISTAKES as error:
            return self._failed(node_name, name, str(error))

    def _failed(self, node_name: str, task: str, message: str) -> Node:
        """A child that could not be begun."""
        node = self._tree.get(node_name)
        if node:
            return self._tree.mark(node, s.ERROR, message)
        template = self._tasks[task].template
        return self._tree.add(
            node_name, s.SKIPPED_NODE, s.ERROR, boundary=self._node, template=template, message=message
        )

    def _phase(self, targets: list[str], needed: Collection[str]) -> str:
        """The DAG's phase from its targets' branches (dag.go:134)."""
        if self._engine.interrupt.is_set:
            return s.FAILED
        branches: dict[str, set[str]] = {}
        for name in needed:
            node = self._tree.get(self._name(name))
            inherited = set().union(*(branches[d] for d in self._dependencies[name])) or {s.SUCCEEDED}
            branches[name] = {node.phase} if node and node.is_completed else inherited
        for target in targets:
            for phase in (s.FAILED, s.ERROR):
                if phase in branches[target] and not self._tasks[target].continue_on.allows(phase):
                    return phase
        return s.SUCCEEDED

    def _outcomes(self, name: str) -> dict[str, TaskResult]:
        return {dependency: self._outcome(self._name(dependency)) for dependency in self._dependencies[name]}

    def _outcome(self, node_name: str) -> TaskResult:
        node = self._tree.get(node_name)
        assert node is not None, f"{node_name} is awaited before it is asked for"
        phases = [self._tree.status.nodes[child].phase for child in node.children if node.type == s.TASK_GROUP]
        return TaskResult(
            Succeeded=node.phase == s.SUCCEEDED,
            Failed=node.phase == s.FAILED,
            Errored=node.phase == s.ERROR,
            Skipped=node.phase == s.SKIPPED,
            Omitted=node.phase == s.OMITTED,
            AnySucceeded=s.SUCCEEDED in phases,
            AllFailed=bool(phases) and set(phases) == {s.FAILED},
        )

    def _is_fulfilled(self, name: str) -> bool:
        node = self._tree.get(self._name(name))
        return node is not None and node.is_fulfilled

    def _scope(self, names: Collection[str]) -> Scope:
        return layered(Siblings("tasks", names, self._variables), self._engine.variables)

    def _variables(self, name: str) -> Mapping[str, str | None]:
        node = self._tree.get(self._name(name))
        if node is None:
            return {}
        declared = self._engine.template(self._tasks[name].template)
        return {**children.defaults(node, declared), **children.variables(node, self._tree)}

    def _files(self, names: Collection[str]) -> Mapping[str, File]:
        return layered(Siblings("tasks", names, self._task_files), self._engine.files, children.input_files(self._node))

    def _task_files(self, name: str) -> Mapping[str, File]:
        node = self._tree.get(self._name(name))
        return children.files(node, self._tree) if node else {}

    def _end(self, name: str, phase: str, message: str) -> Node:
        """A task that ends without having run."""
        self._connect(name)
        return self._add(name, s.SKIPPED_NODE, phase, message)

    def _add(self, name: str, kind: str, phase: str, message: str = "") -> Node:
        template = self._tasks[name].template
        return self._tree.add(self._name(name), kind, phase, boundary=self._node, template=template, message=message)

    def _connect(self, name: str) -> None:
        """Draw the edges from the ends of the task's dependencies, or from the DAG's own node.

        Steps that could not begin have no ends; Argo leaves the edge out then, and never sees the task again.
        """
        before = [self._tree.get(self._name(dependency)) for dependency in self._dependencies[name]]
        ends = [end for node in before if node for end in self._tree.outbound(node) or [node]]
        for parent in ends or [self._node]:
            self._tree.connect(parent, self._name(name))

    def _ends(self, name: str) -> list[Node]:
        node = self._tree.get(self._name(name))
        return self._tree.outbound(node) if node else []

    def _name(self, task: str) -> str:
        return f"{self._node.name}.{task}"

    def _leaves(self) -> list[str]:
        depended_on = {dependency for names in self._dependencies.values() for dependency in names}
        return sorted(name for name in self._tasks if name not in depended_on)


def _logic(task: Task, tasks_by_name: Mapping[str, Task]) -> str:
    """What must hold before a task runs: its `depends`, or its `dependencies` as Argo expands them; else nothing."""
    continue_on = {name: other.continue_on for name, other in tasks_by_name.items()}
    if task.depends:
        return depends.expand(task.depends, continue_on)
    return depends.from_dependencies(task.dependencies, continue_on) if task.dependencies else ""
