"""A manifest as the rules read it: its templates, and every place that calls one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Invocation:
    """A task, a step or a hook of one: a place that calls a template."""

    where: str
    """`pipeline.train`: the calling template and the task."""

    caller: Json
    """The calling template."""

    body: Json
    """The task as it stands in the manifest; for a hook, with the name of its task."""

    kind: str
    """`tasks` or `steps`: the word that begins tags to its siblings."""

    visible: frozenset[str] = field(default=frozenset())
    """Steps of earlier groups, and for a hook the step or task that it belongs to; a DAG has its arrows instead."""

    @property
    def name(self) -> str:
        return str(self.body.get("name", ""))

    @property
    def arguments(self) -> list[Json]:
        return parameters(self.body.get("arguments"))


@dataclass(frozen=True)
class View:
    """A Workflow, WorkflowTemplate, ClusterWorkflowTemplate or CronWorkflow."""

    manifest: Json

    @property
    def kind(self) -> str:
        return str(self.manifest.get("kind"))

    @property
    def metadata(self) -> Json:
        return self.manifest.get("metadata") or {}

    @cached_property
    def spec(self) -> Json:
        spec = self.manifest.get("spec") or {}
        return spec.get("workflowSpec") or {} if self.kind == "CronWorkflow" else spec

    @property
    def is_whole(self) -> bool:
        """Whether everything it names stands in it, nothing in a template kept elsewhere."""
        return "workflowTemplateRef" not in self.spec

    @cached_property
    def templates(self) -> list[Json]:
        """The templates, those written inline included."""
        named = list(self.spec.get("templates") or [])
        inline = [one.body["inline"] for one in _invocations(named) if "inline" in one.body]
        return named + inline

    @cached_property
    def by_name(self) -> dict[str, Json]:
        return {one["name"]: one for one in self.templates if "name" in one}

    @cached_property
    def invocations(self) -> list[Invocation]:
        """Every task, step and hook."""
        return list(_invocations(self.templates))

    def called(self, invocation: Invocation) -> Json | None:
        """The template that an invocation calls, where it stands in this manifest."""
        return invocation.body.get("inline") or self.by_name.get(str(invocation.body.get("template")))


def parameters(holder: Json | None) -> list[Json]:
    """The parameters of arguments, inputs or outputs."""
    return (holder or {}).get("parameters") or []


def artifacts(holder: Json | None) -> list[Json]:
    """The artifacts of arguments, inputs or outputs."""
    return (holder or {}).get("artifacts") or []


def containers(view: View) -> Iterator[tuple[str, Json]]:
    """Every container of every pod, with its place."""
    for template in view.templates:
        where = f"templates.{template.get('name', 'inline')}"
        for key in ("container", "script"):
            if held := template.get(key):
                yield f"{where}.{key}", held
        together = (template.get("containerSet") or {}).get("containers")
        for key, many in (
            ("initContainers", template.get("initContainers")),
            ("sidecars", template.get("sidecars")),
            ("containerSet", together),
        ):
            for held in many or []:
                yield f"{where}.{key}.{held.get('name')}", held


def siblings(template: Json) -> list[Json]:
    """The tasks or steps of a template."""
    if dag := template.get("dag"):
        return dag.get("tasks") or []
    return [step for group in template.get("steps") or [] for step in group]


def _invocations(templates: list[Json]) -> Iterator[Invocation]:
    for template in templates:
        title = template.get("name", "inline")
        for task in (template.get("dag") or {}).get("tasks") or []:
            yield from _with_hooks(Invocation(f"{title}.{task.get('name')}", template, task, "tasks"))
        earlier: frozenset[str] = frozenset()
        for group in template.get("steps") or []:
            for step in group:
                yield from _with_hooks(Invocation(f"{title}.{step.get('name')}", template, step, "steps", earlier))
            earlier |= {step.get("name", "") for step in group}


def _with_hooks(invocation: Invocation) -> Iterator[Invocation]:
    yield invocation
    for name, hook in (invocation.body.get("hooks") or {}).items():
        body = hook | {"name": invocation.name}
        visible = invocation.visible | {invocation.name}
        yield Invocation(f"{invocation.where}.hooks.{name}", invocation.caller, body, invocation.kind, visible)
