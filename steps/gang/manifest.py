"""The Job as the pipeline's manifest holds it: filled in, read, and made this attempt's own."""

import copy
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from argosy.steps.contracts import GANG, ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gang.objects import View

Json = dict[str, Any]

RUN_LABEL = "argosy.dev/run"
GROUP = "scheduling.k8s.io/group-name"
"""Annotation of pods that names their PodGroup (volcano: pkg/apis/scheduling/v1beta1/labels.go)."""

HOST_NAME_LENGTH = 63
TAG = re.compile(r"\{\{\s*inputs\.parameters\.([\w-]+)\s*\}\}")
EXPANDED = {"command", "args", "env"}
"""Fields in whose texts the kubelet expands `$(NAME)` and `$$` (kubernetes: pkg/kubelet/container/helpers.go)."""


class FieldRef(View):
    field_path: str


class Source(View):
    field_ref: FieldRef | None = None


class Variable(View):
    name: str
    value: str = ""
    value_from: Source | None = None


class Amounts(View):
    limits: dict[str, Any] = Field(default={})


class Container(View):
    name: str
    command: list[str] = Field(default=[])
    args: list[str] = Field(default=[])
    env: list[Variable] = Field(default=[])
    working_dir: str = ""
    resources: Amounts = Amounts()


class PodSpec(View):
    init_containers: list[Container] = Field(default=[])
    containers: list[Container] = Field(min_length=1, max_length=1)
    termination_grace_period_seconds: float = 30


class Template(View):
    spec: PodSpec


class JobSpec(View):
    parallelism: int = Field(ge=1)
    template: Template


class _Job(View):
    spec: JobSpec


class Manifest:
    """A Job whose every text is known."""

    def __init__(self, run: str, job: str, group: str, arguments: Mapping[str, str]) -> None:
        """Raises StepError (USAGE) for a text that no argument gives, and for what is no Job."""
        self.run = run
        self.job: Json = _filled(json.loads(job), arguments)
        self.group: Json | None = _filled(json.loads(group), arguments) if group else None
        try:
            self.spec = _Job.model_validate(self.job).spec
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise StepError(ExitCode.USAGE, f"--job: is no Job of a gang: {where}: {first['msg']}") from None

    @property
    def nodes(self) -> int:
        return self.spec.parallelism

    @property
    def main(self) -> Container:
        return self.spec.template.spec.containers[0]

    @property
    def preparations(self) -> list[Container]:
        return self.spec.template.spec.init_containers

    @property
    def grace_seconds(self) -> float:
        return self.spec.template.spec.termination_grace_period_seconds

    def attempt(self, name: str, owner: Json) -> tuple[Json, Json | None]:
        """The Job of this name, and the PodGroup if one is asked for; an id of the gang that no other attempt has."""
        job, gang = copy.deepcopy(self.job), uuid.uuid4().hex
        template = job["spec"]["template"]
        metadata, pods = job.setdefault("metadata", {}), template.setdefault("metadata", {})
        metadata |= {"name": name, "ownerReferences": [owner]}
        for labelled in (metadata, pods):
            labelled["labels"] = {**labelled.get("labels", {}), RUN_LABEL: self.run}
        for container in (*template["spec"].get("initContainers", []), *template["spec"]["containers"]):
            container["env"] = [{"name": GANG, "value": gang}, *container.get("env", [])]
        if self.group is None:
            return job, None
        pods["annotations"] = {**pods.get("annotations", {}), GROUP: name}
        group = copy.deepcopy(self.group)
        group["metadata"] = {**group.get("metadata", {}), "name": name, "ownerReferences": [owner]}
        return job, group

    def name(self) -> str:
        """`RUN-train-1a2b3`, another each time: a pod's host name, `NAME-INDEX`, must be one label of DNS."""
        end = f"-train-{uuid.uuid4().hex[:5]}"
        room = HOST_NAME_LENGTH - len(end) - len(f"-{self.nodes}")
        return re.sub(r"[^a-z0-9]", "-", self.run.lower())[:room].rstrip("-") + end


def _filled(document: Json, arguments: Mapping[str, str]) -> Json:
    missing: dict[str, None] = {}

    def text(value: str, *, is_expanded: bool) -> str:
        def given(tag: re.Match[str]) -> str:
            argument = arguments.get(tag[1])
            if argument is None:
                missing[tag[1]] = None
                return tag[0]
            return argument.replace("$", "$$") if is_expanded else argument

        return TAG.sub(given, value)

    def walked(value: Any, *, is_expanded: bool) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, str):
            return text(value, is_expanded=is_expanded)
        if isinstance(value, list):
            return [walked(one, is_expanded=is_expanded) for one in value]
        if isinstance(value, dict):
            return {key: walked(one, is_expanded=is_expanded or key in EXPANDED) for key, one in value.items()}
        return value

    made: Json = walked(document, is_expanded=False)
    if missing:
        lines = [f"--arguments.{name}: is missing; the Job names it" for name in missing]
        raise StepError(ExitCode.USAGE, "\n".join(lines))
    return made
