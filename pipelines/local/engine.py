"""Runs a Workflow the way Argo's controller does: templates, nodes, phases, messages.

The engine decides what happens; a PodRunner makes it happen. Each node is one coroutine, so that a DAG task is a
function that waits for its dependencies.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from argosy.pipelines import status as s
from argosy.pipelines.expressions.golang import quote
from argosy.pipelines.local import inputs, pause, progress, retry, tasks
from argosy.pipelines.local.artifacts import Repository
from argosy.pipelines.local.dag import DagExecution
from argosy.pipelines.local.errors import TemplateError
from argosy.pipelines.local.interrupt import Interrupt, after
from argosy.pipelines.local.locks import Locks
from argosy.pipelines.local.pod import PodRunner
from argosy.pipelines.local.podstep import PodStep, Volumes
from argosy.pipelines.local.scope import Scope, compact, layered, workflow_variables
from argosy.pipelines.local.steps import StepsExecution
from argosy.pipelines.local.tree import Tree
from argosy.pipelines.manifest import Arguments, Hook, Json, RetryStrategy, Template, Workflow, convert
from argosy.pipelines.status import Node, NodeFlag, Status, Value, Values

TIMEOUT = "timeout"  # workflow/controller/operator.go: ErrTimeout
RETRY_DEADLINE = "retry exceeded workflow deadline"  # workflow/controller/operator.go:1019
RUN_DEADLINE = "Step exceeded its deadline"  # workflow/controller/exec_control.go:57

MAX_DEPTH = 100  # workflow/controller/controller.go: maxStackDepth


@dataclass(frozen=True)
class Place:
    """Where in the run a template is executed."""

    boundary: Node | None = None
    limit: asyncio.Semaphore | None = None
    """How many children of the boundary may be active at once."""
    depth: int = 0
    task_variables: tuple[tuple[str, str], ...] = ()
    """The name of the task or step that asked for it."""
    captures_result: bool = False
    flag: NodeFlag | None = None
    locks: frozenset[str] = frozenset()
    """What the templates that called this one hold."""


class Engine:
    """One run of one Workflow."""

    def __init__(
        self,
        workflow: Workflow,
        document: Json,
        *,
        tree: Tree,
        runner: PodRunner,
        repository: Repository,
        volumes: Volumes,
    ) -> None:
        self.workflow = workflow
        self.tree = tree
        self.interrupt = Interrupt()
        self.variables: dict[str, str] = workflow_variables(workflow, document)
        self.files: dict[str, s.File] = {}
        self._templates: dict[str, Json] = {t["name"]: t for t in document["spec"]["templates"]}
        self._locks = Locks(workflow.metadata.namespace)
        slots = min(os.cpu_count() or 1, workflow.spec.parallelism or sys.maxsize)
        self._pods = PodStep(tree, runner, repository, volumes, slots=slots)

    async def run(self) -> Status:
        """Run to the end, or until nothing goes on without a person; returns the status."""
        status = self.tree.status
        if status.phase != s.RUNNING:
            status.phase, status.started_at, status.finished_at, status.message = s.RUNNING, s.now(), None, ""
        self.tree.save_status()
        for node in list(status.nodes.values()):  # of a run that is resumed
            self.add_globals(node.outputs)
        with after(self.workflow.spec.active_deadline_seconds, self.interrupt, RUN_DEADLINE):
            phase, message = await self._entrypoint()
            if phase == s.RUNNING and self.interrupt.is_set:  # which the pauses had not seen
                phase, message = await self._entrypoint()
        if phase != s.RUNNING:
            phase, message = await self._exit_handler(phase, message)
            status.phase, status.message, status.finished_at = phase, message, s.now()
        progress.add_up(status)
        self.tree.save_status()
        return status

    def template(self, name: str) -> Json:
        """A template as the manifest has it. Raises tasks.TaskError for an unknown one."""
        try:
            return self._templates[name]
        except KeyError as error:
            raise tasks.TaskError(f"template {name!r} not found") from error

    def add_globals(self, outputs: Values | None) -> None:
        """Outputs with a `globalName` become outputs of the workflow (operator.go:3661)."""
        if outputs is None:
            return
        for parameter in outputs.parameters:
            if parameter.global_name and parameter.value is not None:
                self.variables[f"workflow.outputs.parameters.{parameter.global_name}"] = parameter.value
                exported = self._workflow_outputs()
                others = [one for one in exported.parameters if one.name != parameter.global_name]
                exported.parameters = [*others, Value(parameter.global_name, parameter.value)]
        for file in outputs.artifacts:
            if file.global_name:
                self.files[f"workflow.outputs.artifacts.{file.global_name}"] = file
                exported = self._workflow_outputs()
                kept = [one for one in exported.artifacts if one.name != file.global_name]
                own = msgspec.structs.replace(file, name=file.global_name, global_name=None, path=None)
                exported.artifacts = [*kept, own]

    async def execute(self, name: str, template: str, arguments: Arguments, place: Place) -> Node:
        """Execute a template as the node of this name; returns the node, fulfilled unless a person must release it.

        A node that is fulfilled already, by the run that is resumed, is returned as it is. Raises TemplateError.
        """
        if (known := self.tree.get(name)) and known.is_fulfilled:
            return known
        if place.depth >= MAX_DEPTH:
            raise self._error(name, template, place, "Maximum recursion depth exceeded")
        try:
            raw = self.template(template)
            variables = dict(place.task_variables) | {"node.name": name}
            if not self._strategy(convert(raw, Template)):
                variables["pod.name"] = self.tree.pod_name(name, template)
            ready = inputs.process(raw, arguments, layered(variables, self.variables))
            typed = convert(ready, Template)
            keys = self._locks.keys(typed.synchronization, place.locks)
            patience = retry.time_limit(typed.timeout)
        except tasks.MISTAKES as error:
            raise self._error(name, template, place, str(error)) from error
        if not keys:
            return await self._run(name, ready, typed, place)
        # Argo asks for a place among the boundary's children before it asks for locks (operator.go:2198, 2205).
        async with place.limit or AsyncExitStack():
            inner = replace(place, limit=None, locks=place.locks | keys)
            with self.interrupt.stop() as stop, after(patience, stop, TIMEOUT):
                waits = self._locks.hold(keys, stop, lambda message: self._wait(name, typed, place, message))
                async with waits as is_held:
                    if is_held:
                        return await self._run(name, ready, typed, inner)
            node = self.tree.get(name)
            assert node is not None, "a node that waited is there"
            return self.tree.mark(node, s.FAILED, stop.reason)

    async def _run(self, name: str, ready: Json, template: Template, place: Place) -> Node:
        if strategy := self._strategy(template):
            return await self._with_retries(name, ready, template, strategy, place)
        return await self._attempt(name, ready, template, place)

    async def exit_hook(self, hook: Hook, node: Node, place: Place, scope: Scope, files: Mapping[str, s.File]) -> None:
        """A task's or step's exit handler: runs when the node completed, and changes nothing about it."""
        if not node.is_completed:
            return
        name = f"{node.name}.onExit"
        try:
            arguments = tasks.resolve_arguments(msgspec.to_builtins(hook.arguments), scope, files)
            self.tree.connect(node, name)
            await self.execute(
                name, hook.template, convert(arguments, Arguments), replace(place, flag=NodeFlag(hooked=True))
            )
        except (*tasks.MISTAKES, TemplateError):
            return

    async def _entrypoint(self) -> tuple[str, str]:
        spec = self.workflow.spec
        try:
            node = await self.execute(self.tree.workflow, spec.entrypoint, spec.arguments, Place())
        except TemplateError as error:
            return s.ERROR, f"error in entry template execution: {error}"
        phase = s.SUCCEEDED if node.phase in (s.SKIPPED, s.OMITTED) else node.phase
        is_stopped = self.interrupt.message not in ("", RUN_DEADLINE)  # a deadline is told by the nodes that met it
        return phase, self.interrupt.message if node.is_unsuccessful and is_stopped else node.message

    async def _exit_handler(self, phase: str, message: str) -> tuple[str, str]:
        """The workflow's exit handler runs whatever happened, deadline or stop; its own failure counts."""
        template = self.workflow.spec.on_exit
        if not template or self.interrupt.is_final:
            return phase, message
        self.interrupt.lift()
        self.variables |= self._exit_variables(phase)
        try:
            name = f"{self.tree.workflow}.onExit"
            node = await self.execute(name, template, self.workflow.spec.arguments, Place(flag=NodeFlag(hooked=True)))
        except TemplateError as error:
            return (s.ERROR, str(error)) if phase == s.SUCCEEDED else (phase, message)
        if phase == s.SUCCEEDED and node.is_unsuccessful:
            return node.phase, node.message
        return phase, message

    def _exit_variables(self, phase: str) -> dict[str, str]:
        nodes = [node for node in self.tree.status.nodes.values() if node.is_unsuccessful]
        failures = [
            {
                "displayName": node.display_name,
                "message": node.message,
                "templateName": node.template_name,
                "phase": node.phase,
                "podName": self.tree.pod_name(node.name, node.template_name),
                "finishedAt": node.finished_at,
            }
            for node in nodes
        ]
        started = self.tree.status.started_at or s.now()
        return {
            "workflow.status": phase,
            "workflow.failures": quote(compact(failures or None)),  # quoted once more, as in operator.go:428
            "workflow.duration": f"{s.seconds_between(started, ''):f}",
        }

    def _strategy(self, template: Template) -> RetryStrategy | None:
        return template.retry_strategy or self.workflow.spec.retry_strategy

    async def _with_retries(
        self, name: str, ready: Json, template: Template, strategy: RetryStrategy, place: Place
    ) -> Node:
        """The node of type Retry and its attempts, one after the other."""
        flag = NodeFlag(hooked=bool(place.flag and place.flag.hooked), retried=True)
        node = self._running(name, s.RETRY, template, replace(place, flag=place.flag and flag))  # operator.go:2306
        attempts: list[Node] = []
        while True:
            attempt = f"{name}({len(attempts)})"
            self.tree.connect(node, attempt)
            try:
                variables = retry.attempt_variables(attempts) | {"pod.name": self.tree.pod_name(attempt, template.name)}
                filled = inputs.substitute(ready, layered(variables, self.variables))
                last = await self._attempt(attempt, filled, convert(filled, Template), replace(place, flag=flag))
                attempts.append(last)
                if not last.is_fulfilled:
                    return node
                node.outputs = last.outputs
                if not last.is_unsuccessful:
                    return self.tree.mark(node, s.SUCCEEDED)
                if self.interrupt.is_set:
                    return self.tree.mark(node, last.phase, self._end_of_retries())
                decision = retry.decide(strategy, attempts)
            except tasks.MISTAKES as error:
                return self.tree.mark(node, s.ERROR, str(error))
            if isinstance(decision, retry.Final):
                return self.tree.mark(node, last.phase, decision.message)
            if decision.seconds:
                self.tree.mark(node, s.RUNNING, f"Backoff for {decision.seconds:g} seconds")
                with self.interrupt.stop() as stop, after(decision.seconds, stop, "backoff is over"):
                    await stop.event.wait()
                self.tree.mark(node, s.RUNNING)

    def _end_of_retries(self) -> str:
        if self.interrupt.message != RUN_DEADLINE:
            return self.interrupt.message
        started, seconds = self.tree.status.started_at, self.workflow.spec.active_deadline_seconds
        assert started, "only a run that has begun meets its deadline"
        deadline = datetime.fromisoformat(started) + timedelta(seconds=seconds or 0)
        return f"{RETRY_DEADLINE} {deadline:%Y-%m-%d %H:%M:%S} +0000 UTC"

    async def _attempt(self, name: str, ready: Json, template: Template, place: Place) -> Node:
        """Execute a template once, without regard to retries."""
        known = self.tree.get(name)
        if known and known.is_fulfilled:
            return known
        if template.suspend is not None:
            node = known or self._add(name, s.SUSPEND, s.PENDING, template, place)
            return await pause.wait(node, template.suspend, self.tree, self.interrupt)
        if template.pod:
            node = known or self._add(name, s.POD, s.PENDING, template, place)
            with self.interrupt.stop() as stop:
                await self._pods.run(node, template, place.limit, stop, captures=place.captures_result)
            self.add_globals(node.outputs)
            return node
        async with place.limit or AsyncExitStack():
            node = self._running(name, _kind(template), template, place)
            inner = Place(
                boundary=node,
                limit=asyncio.Semaphore(template.parallelism) if template.parallelism else None,
                depth=place.depth + 1,
                locks=place.locks,
            )
            execution = DagExecution if template.dag else StepsExecution
            await execution(self, node, ready, template, inner).run()
            self.add_globals(node.outputs)
            return node

    def _running(self, name: str, kind: str, template: Template, place: Place) -> Node:
        node = self.tree.get(name)
        if node is None or node.type != kind:  # a node that waited for a lock has no kind yet
            return self._add(name, kind, s.RUNNING, template, place)
        return self.tree.mark(node, s.RUNNING)

    def _wait(self, name: str, template: Template, place: Place, message: str) -> None:
        """A node that waits for a lock is pending and says for which."""
        kind = s.RETRY if self._strategy(template) else _kind(template)
        self._add(name, kind, s.PENDING, template, place, message=message)

    def _add(self, name: str, kind: str, phase: str, template: Template, place: Place, *, message: str = "") -> Node:
        return self.tree.add(
            name,
            kind,
            phase,
            boundary=place.boundary,
            template=template.name,
            message=message,
            inputs=inputs.values(template),
            flag=place.flag,
        )

    def _error(self, name: str, template: str, place: Place, message: str) -> TemplateError:
        """The node of a template that could not be begun, and what its caller is told."""
        self.tree.add(
            name, s.SKIPPED_NODE, s.ERROR, boundary=place.boundary, template=template, message=message, flag=place.flag
        )
        return TemplateError(message)

    def _workflow_outputs(self) -> Values:
        self.tree.status.outputs = self.tree.status.outputs or Values()
        return self.tree.status.outputs


def _kind(template: Template) -> str:
    """The type of a template's node."""
    if template.pod:
        return s.POD
    if template.suspend is not None:
        return s.SUSPEND
    return s.DAG if template.dag else s.STEPS
