"""What of a Workflow this machine can run.

Every field of a manifest is one of three: the runner honours it (it stands in `manifest.py`), it means nothing to a
process and is left out with a note, or the run is refused before anything starts.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from argosy.pipelines import manifest as m
from argosy.pipelines.checks import structure
from argosy.pipelines.local.cluster_wishes import wishes
from argosy.pipelines.local.process import POD_FIELDS, Machine
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import TEMPLATE_NAME


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What only a cluster has; Kubernetes' own fields are named as in its API.
LEFT_OUT: dict[type[m.Noun], frozenset[str]] = {
    m.Spec: _names("""
        affinity archiveLogs artifactGC artifactRepositoryRef automountServiceAccountToken dnsConfig dnsPolicy executor
        hostAliases hostNetwork imagePullSecrets metrics nodeSelector podDisruptionBudget podGC podMetadata
        podPriorityClassName podSpecPatch schedulerName securityContext synchronization tolerations ttlStrategy
        volumeClaimGC
        workflowMetadata
    """),
    m.Template: _names("""
        affinity annotations archiveLocation automountServiceAccountToken executor hostAliases metadata metrics
        nodeSelector priorityClassName schedulerName securityContext serviceAccountName tolerations
    """),
    m.Container: _names(
        "imagePullPolicy ports readinessProbe resources securityContext startupProbe stdin stdinOnce tty"
    ),
    m.Artifact: _names("artifactGC recurseMode"),
    m.VolumeMount: _names("mountPropagation readOnly recursiveReadOnly"),
    m.RetryStrategy: _names("affinity"),
}

NOTED = _names("""
    affinity configMap envFrom hostNetwork nodeSelector readOnly resources schedulerName secret securityContext
    serviceAccountName synchronization tolerations
""")
"""Of what is left out, what a user may have counted on: one line says so."""

VOLUMES = _names("emptyDir hostPath persistentVolumeClaim")
OPTIONAL_VOLUMES = _names("configMap secret")
"""What a pod can do without where its volume says so; the folder is empty here, as it is in a cluster without them."""


@dataclass(frozen=True)
class Findings:
    """What the runner will not honour."""

    refused: tuple[str, ...]
    """`spec.templates[2].resource: ...`, one a line; with any, nothing may start."""
    left_out: tuple[str, ...]
    """Names of fields that mean nothing here."""


def examine(workflow: m.Workflow, document: Json, machine: Machine) -> Findings:
    """Judge every field of a Workflow, and every command that it names literally."""
    walk = _Walk()
    walk.node(document["spec"], m.Spec, "spec")
    if not walk.refused:
        walk.refused.extend(_incomplete(workflow.spec))
        walk.refused.extend(map(str, structure.problems(document)))
    for index, template in enumerate(workflow.spec.templates):
        walk.refused.extend(_template(template, f"spec.templates[{index}] ({template.name})", machine))
    for volume in workflow.spec.volumes:
        walk.refused.extend(_volume(volume, "spec"))
    walk.left_out.update(_left_out(workflow.spec))
    wished = {wish for template in document["spec"].get("templates") or [] for wish in wishes(template)}
    return Findings(tuple(walk.refused), tuple(sorted(walk.left_out & NOTED | wished)))


class _Walk:
    """Compares a document with the nouns that view it."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.left_out: set[str] = set()

    def node(self, data: Json, noun: type[m.Noun], where: str) -> None:
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(noun)}
        for key, value in data.items():
            if key in fields:
                self._value(value, fields[key], f"{where}.{key}")
            elif key in LEFT_OUT.get(noun, ()):
                self.left_out.add(key)
            elif value not in (None, {}, [], ""):
                self.refused.append(f"{where}.{key}: cannot be run on one machine")

    def _value(self, value: object, kind: object, where: str) -> None:
        """Look into what a field holds where that is a noun, or a list or mapping of nouns."""
        noun = _noun(kind)
        if noun is None:
            return
        if isinstance(value, list):
            for index, item in enumerate(value):
                self._value(item, kind, f"{where}[{index}]")
        elif isinstance(value, dict) and _is_mapping(kind):
            for key, item in value.items():
                self.node(item, noun, f"{where}.{key}")
        elif isinstance(value, dict):
            self.node(value, noun, where)


def _incomplete(spec: m.Spec) -> Iterator[str]:
    """What a Workflow needs; asked only where no field was refused, since such a field may stand for it."""
    for template in spec.templates:
        if not TEMPLATE_NAME.fullmatch(template.name):
            yield f"template {template.name!r}: no name that Argo takes: letters, digits and - only"
        kinds = [template.container, template.script, template.dag, template.steps, template.suspend]
        if sum(kind is not None for kind in kinds) != 1:
            yield f"template {template.name!r}: a container, a script, a dag, steps or suspend is expected, exactly one"


def _left_out(spec: m.Spec) -> Iterator[str]:
    """What the nouns know and a process does without."""
    if spec.service_account_name:
        yield "serviceAccountName"
    for template in spec.templates:
        if any(container.env_from for container in _containers(template)):
            yield "envFrom"
    volumes = [*spec.volumes, *(volume for template in spec.templates for volume in template.volumes)]
    yield from (kind for volume in volumes for kind in volume if kind in OPTIONAL_VOLUMES)


def _containers(template: m.Template) -> list[m.Container]:
    return [*template.init_containers, *([template.pod] if template.pod else [])]


def _template(template: m.Template, where: str, machine: Machine) -> Iterator[str]:
    for hook in (name for task in _tasks(template) for name in task.hooks if name != "exit"):
        yield f"{where}: hook {hook!r}: only exit hooks can be run on one machine"
    if template.suspend and template.timeout:
        yield f"{where}.timeout: a pause with a limit cannot be had on one machine; give it a duration in its place"
    for volume in template.volumes:
        yield from _volume(volume, where)
    for container in _containers(template):
        yield from _command(container, where, machine)
        yield from _environment(container, where)
        yield from (f"{where}: mountPath / cannot be had on one machine" for _ in _roots(container))


def _environment(container: m.Container, where: str) -> Iterator[str]:
    """What an environment is taken from must be one that a container can do without: there is none of it here. Of the
    pod's own fields there is its node.
    """
    for variable in container.env:
        if (field := variable.pods_field) and field not in POD_FIELDS:
            remedy = f"a variable can be {', '.join(POD_FIELDS)}, or have a value"
            yield f"{where}: env {variable.name}: fieldRef {field!r} cannot be had on one machine; {remedy}"
    for kind, reference in (found for source in container.env_from for found in source.references()):
        if not reference.optional:
            remedy = "write `optional: true` there, and set its variables in your own environment"
            yield f"{where}: envFrom: {kind} {reference.name!r} cannot be had on one machine; {remedy}"


def _command(container: m.Container, where: str, machine: Machine) -> Iterator[str]:
    if not container.command:
        what = f"image {container.image!r} has no command here"
        yield f"{where}: {what}: without an image its entrypoint is unknown; name the command in the manifest"
        return
    command = container.command[0]
    if "{{" not in command and "$(" not in command and not shutil.which(command, path=machine.environment["PATH"]):
        yield f"{where}: command {command!r} is not on this machine"


def _roots(container: m.Container) -> list[m.VolumeMount]:
    return [mount for mount in container.volume_mounts if not mount.mount_path.strip("/")]


def _volume(volume: Json, where: str) -> Iterator[str]:
    kinds = [key for key in volume if key != "name"]
    for kind in kinds:
        if kind in OPTIONAL_VOLUMES and volume[kind].get("optional"):
            continue
        if kind not in VOLUMES:
            yield f"{where}: volume {volume.get('name')!r}: {kind} cannot be had on one machine"


def _tasks(template: m.Template) -> list[m.Task]:
    if template.dag:
        return template.dag.tasks
    return [step for group in template.steps or [] for step in group]


def _noun(kind: object) -> type[m.Noun] | None:
    """The noun in `Noun`, `Noun | None`, `list[Noun]`, `list[list[Noun]] | None` or `dict[str, Noun]`."""
    if isinstance(kind, type) and issubclass(kind, m.Noun):
        return kind
    return next((noun for part in getattr(kind, "__args__", ()) if (noun := _noun(part))), None)


def _is_mapping(kind: object) -> bool:
    return getattr(kind, "__origin__", None) is dict
