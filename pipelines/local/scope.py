"""The variables that tags and expressions see: flat names such as `tasks.train.outputs.parameters.loss`."""

import json
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from argosy.pipelines import status as s
from argosy.pipelines.expressions.golang import any_string
from argosy.pipelines.manifest import Arguments, Json, Parameter, Workflow
from argosy.pipelines.status import Node, Values

Scope = Mapping[str, str]


class AbsentOutputError(LookupError):
    """The output of a step that did not run and declares no default.

    Argo 4.0.7 ends in an error where one is used without a default of the consumer's (docs/upgrading.md); 4.0.5 puts
    an empty text there in a DAG, and hangs in steps.
    """


def workflow_variables(workflow: Workflow, document: Json) -> dict[str, str]:
    """The global variables known before the first step runs (workflow/controller/operator.go:623)."""
    metadata, spec = workflow.metadata, workflow.spec
    created = document["metadata"]["creationTimestamp"]
    variables = {
        "workflow.name": metadata.name,
        "workflow.namespace": metadata.namespace,
        "workflow.uid": document["metadata"]["uid"],
        "workflow.mainEntrypoint": spec.entrypoint,
        "workflow.serviceAccountName": spec.service_account_name,
        "workflow.creationTimestamp": created,
        **_times("workflow.creationTimestamp", datetime.fromisoformat(created)),
        "workflow.status": s.RUNNING,
        **_group("labels", metadata.labels),
        **_group("annotations", metadata.annotations),
    }
    if spec.priority is not None:
        variables["workflow.priority"] = str(spec.priority)
    given = [{"name": p.name, "value": p.text} for p in spec.arguments.parameters if p.text is not None]
    variables["workflow.parameters"] = variables["workflow.parameters.json"] = compact(given)
    for parameter in given:
        variables[f"workflow.parameters.{parameter['name']}"] = parameter["value"]
    return variables


def input_variables(inputs: Arguments, outputs: Arguments) -> dict[str, str]:
    """What a template's own parts may name (workflow/common/util.go:225)."""
    variables = {f"inputs.parameters.{p.name}": p.text for p in inputs.parameters if p.text is not None}
    variables["inputs.parameters"] = compact([_as_json(p) for p in inputs.parameters])
    variables |= {f"inputs.artifacts.{a.name}.path": a.path for a in inputs.artifacts if a.path}
    variables |= {f"outputs.artifacts.{a.name}.path": a.path for a in outputs.artifacts if a.path}
    for parameter in outputs.parameters:
        if parameter.value_from and parameter.value_from.path:
            variables[f"outputs.parameters.{parameter.name}.path"] = parameter.value_from.path
    return variables


def compact(value: object) -> str:
    """JSON as Go's json.Marshal writes it: no spaces, `<`, `>` and `&` escaped."""
    return html_escaped(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def html_escaped(text: str) -> str:
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


V = TypeVar("V")


class Siblings(Mapping[str, V]):
    """What a task or step may know of the others: `tasks.NAME.status`, `steps.NAME.outputs.result`, ...

    Values are looked up when they are asked for: a chain of a thousand tasks has half a million of them. A lookup's
    None stands for an absent output.
    """

    def __init__(self, kind: str, names: Collection[str], lookup: Callable[[str], Mapping[str, V | None]]) -> None:
        self._kind = kind
        self._names = names
        self._lookup = lookup

    def __getitem__(self, key: str) -> V:
        kind, _, rest = key.partition(".")
        name, _, variable = rest.partition(".")
        if kind != self._kind or name not in self._names:
            raise KeyError(key)
        value = self._lookup(name)[variable]
        if value is None:
            raise AbsentOutputError(key)
        return value

    def __contains__(self, key: object) -> bool:
        try:
            self[str(key)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        for name in self._names:
            for variable in (key for key, value in self._lookup(name).items() if value is not None):
                yield f"{self._kind}.{name}.{variable}"

    def __len__(self) -> int:
        return sum(1 for _ in self)


def node_variables(node: Node) -> dict[str, str]:
    """One node's variables, without the prefix that names it (operator.go:3438)."""
    variables = {"id": node.id, "status": node.phase}
    optional = {"startedAt": node.started_at, "finishedAt": node.finished_at, "hostNodeName": node.host_node_name}
    variables |= {name: value for name, value in optional.items() if value}
    if node.outputs:
        variables |= output_variables(node.outputs)
    return variables


def output_variables(outputs: Values) -> dict[str, str]:
    variables = {f"outputs.parameters.{p.name}": p.value for p in outputs.parameters if p.value is not None}
    if outputs.result is not None:
        variables["outputs.result"] = outputs.result
    if outputs.exit_code is not None:
        variables["exitCode"] = outputs.exit_code
    return variables


def layered(*scopes: Mapping[str, V]) -> Mapping[str, V]:
    """Several scopes as one; an earlier one wins."""
    return ChainMap(*scopes)  # type: ignore[arg-type]  # ChainMap asks for mutable mappings, and only its writes do


def _group(kind: str, values: Mapping[str, str]) -> dict[str, str]:
    as_json = compact(dict(sorted(values.items())))
    named = {f"workflow.{kind}.{name}": value for name, value in values.items()}
    return {f"workflow.{kind}": as_json, f"workflow.{kind}.json": as_json, **named}


def _times(prefix: str, time: datetime) -> dict[str, str]:
    time = time.astimezone(UTC)
    formats = {f"{prefix}.{code}": time.strftime(f"%{code}") for code in "BbmAadHIMSYypZz"}
    return formats | {
        f"{prefix}.L": f"{time.microsecond // 1000:03d}",
        f"{prefix}.s": str(int(time.timestamp())),
        f"{prefix}.RFC3339": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _as_json(parameter: Parameter) -> dict[str, str]:
    pairs = {"name": parameter.name, "value": parameter.value, "default": parameter.default}
    return {key: any_string(value) for key, value in pairs.items() if value is not None}
