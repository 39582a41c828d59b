"""Steps templates: groups one after the other, the steps of a group at the same time (workflow/controller/steps.go)."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from argosy.pipelines import status as s
from argosy.pipelines.local import children, loops, outputs, tasks
from argosy.pipelines.local.errors import TemplateError
from argosy.pipelines.local.scope import Scope, Siblings, layered
from argosy.pipelines.manifest import Json, Task, Template, convert
from argosy.pipelines.status import File, Node

if TYPE_CHECKING:
    from argosy.pipelines.local.engine import Engine, Place


class StepsExecution:
    """One execution of one steps template, whose own node is running."""

    def __init__(self, engine: "Engine", node: Node, ready: Json, template: Template, place: "Place") -> None:
        assert template.steps is not None
        self._engine = engine
        self._tree = engine.tree
        self._node = node
        self._template = template
        self._place = place
        self._groups: list[list[Json]] = ready["steps"]
        self._results = children.results_referenced(engine.template(template.name))
        self._known: dict[str, Mapping[str, str | None]] = {}
        self._files: dict[str, Mapping[str, File]] = {}

    async def run(self) -> None:
        """Run the groups until one fails, then give the node its phase, message and outputs."""
        previous = self._node
        for index, steps in enumerate(self._groups):
            name = f"{self._node.name}[{index}]"
            group = self._tree.get(name) or self._tree.add(name, s.STEP_GROUP, s.RUNNING, boundary=self._node)
            for end in self._ends(previous):
                self._tree.connect(end, name)
            if not group.is_fulfilled:
                await self._run_group(group, steps)
            ends = [self._tree.outbound(self._tree.status.nodes[child]) for child in group.children]
            self._node.outbound_nodes = [end.id for step in ends for end in step]
            if not group.is_fulfilled:
                return  # a person must release one of its steps
            if group.is_unsuccessful:
                self._tree.mark(self._node, s.FAILED, group.message)  # never Error: steps.go:120
                return
            try:
                self._learn(group, steps)
            except tasks.MISTAKES as error:
                self._tree.mark(self._node, s.ERROR, str(error))
                return
            previous = group
        try:
            self._node.outputs = outputs.of_children(self._template, self._scope(), self._artifacts())
        except tasks.MISTAKES as error:
            self._tree.mark(self._node, s.ERROR, str(error))
            return
        self._tree.mark(self._node, s.SUCCEEDED)

    async def _run_group(self, group: Node, steps: list[Json]) -> None:
        scope, files = self._scope(), self._artifacts()
        try:
            resolved = [tasks.resolve(step, scope, files) for step in steps]
        except tasks.MISTAKES as error:
            of_artifact = "unable to resolve references: " if isinstance(error, outputs.OutputError) else ""
            self._tree.mark(group, s.ERROR, f"failed to resolve references: {of_artifact}{error}")  # steps.go:567
            return
        try:
            expanded = [(step, child) for step in resolved for child in self._children(group, step, scope)]
        except tasks.MISTAKES as error:
            self._tree.mark(group, s.ERROR, str(error))
            return
        for _, child in expanded:
            self._tree.connect(group, f"{group.name}.{child['name']}")
        jobs = [self._child(group, step, child) for step, child in expanded]
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        ended: list[tuple[Json, Node]] = []
        for (step, child), outcome in zip(expanded, outcomes, strict=True):
            if isinstance(outcome, Node):
                ended.append((step, outcome))
                continue
            message = str(outcome)
            if isinstance(outcome, TemplateError):
                message = f"step group deemed errored due to child {group.name}.{child['name']} error: {outcome}"
            elif not isinstance(outcome, tasks.MISTAKES):
                raise outcome
            self._tree.mark(group, s.ERROR, message)
            return
        self._judge(group, ended)

    def _children(self, group: Node, step: Json, scope: Scope) -> list[Json]:
        expanded = tasks.expand(step, scope)
        if not expanded:
            node = self._tree.add(
                f"{group.name}.{step['name']}",
                s.SKIPPED_NODE,
                s.SKIPPED,
                boundary=self._node,
                template=step["template"],
                message="Skipped, empty params",
            )
            self._tree.connect(group, node.name)
        return expanded

    async def _child(self, group: Node, step: Json, child: Json) -> Node:
        place = replace(
            self._place,
            task_variables=(("steps.name", child["name"]),),
            captures_result=step["name"] in self._results,
        )
        node = await children.run_child(self._engine, f"{group.name}.{child['name']}", child, place)
        if hook := self._typed(child).exit_hook:
            own = Siblings("steps", [child["name"]], lambda _: children.hook_variables(node, self._tree))
            files = Siblings("steps", [child["name"]], lambda _: children.files(node, self._tree))
            known = layered(own, self._scope())
            await self._engine.exit_hook(hook, node, self._place, known, layered(files, self._artifacts()))
        return node

    def _judge(self, group: Node, ended: list[tuple[Json, Node]]) -> None:
        """The group's phase from its children's (steps.go:355)."""
        if not all(node.is_fulfilled for _, node in ended):
            return
        for step, node in ended:
            if node.is_unsuccessful and not self._typed(step).continue_on.allows(node.phase):
                self._tree.mark(group, s.FAILED, f"child '{node.id}' failed")
                return
        self._tree.mark(group, s.SUCCEEDED)

    def _learn(self, group: Node, steps: list[Json]) -> None:
        """What later groups may know of this group's steps."""
        for step in steps:
            name = step["name"]
            node = self._tree.get(f"{group.name}.{name}")
            if node is None:  # a loop: its children stand directly in the group
                prefix = f"{group.name}.{name}("
                expanded = [
                    n for n in map(self._tree.status.nodes.__getitem__, group.children) if n.name.startswith(prefix)
                ]
                self._known[name] = children.variables(group, self._tree) | loops.aggregate(expanded)
                continue
            declared = self._engine.template(step["template"])
            self._known[name] = {**children.defaults(node, declared), **children.variables(node, self._tree)}
            self._files[name] = children.files(node, self._tree)

    def _scope(self) -> Scope:
        return layered(Siblings("steps", self._known.keys(), self._known.__getitem__), self._engine.variables)

    def _artifacts(self) -> Mapping[str, File]:
        siblings = Siblings("steps", self._files.keys(), self._files.__getitem__)
        return layered(siblings, self._engine.files, children.input_files(self._node))

    def _ends(self, node: Node) -> list[Node]:
        """Where edges leave the steps node at first, and a group later."""
        if node is self._node or not node.children:
            return [node]
        return [end for child in node.children for end in self._tree.outbound(self._tree.status.nodes[child])]

    def _typed(self, step: Json) -> Task:
        return convert(step, Task)
