"""A typed view of a compiled manifest: the part of an Argo Workflow that argosy reads.

Field names are Argo's (pkg/apis/workflow/v1alpha1/workflow_types.go), in snake case. What stands in a manifest beyond
these fields is not seen here; `local/support.py` knows which of it may be left out and which must be refused.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import field

from argosy.pipelines.documents import DocumentError, load_all
from argosy.pipelines.expressions.golang import any_string

Scalar = str | int | float | bool | None
"""Argo's AnyString: any scalar is taken and becomes text (`expressions.numbers`)."""

Json = dict[str, Any]


class ManifestError(ValueError):
    """A manifest that is no Argo Workflow; the message names the field."""


class Noun(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, kw_only=True):
    """A part of a manifest."""


class ValueFrom(Noun, frozen=True):
    path: str | None = None
    default: Scalar = None
    parameter: str | None = None
    expression: str | None = None


class Parameter(Noun, frozen=True):
    name: str
    value: Scalar = None
    default: Scalar = None
    value_from: ValueFrom | None = None
    global_name: str | None = None
    enum: list[Scalar] | None = None
    description: str | None = None

    @property
    def text(self) -> str | None:
        return None if self.value is None else any_string(self.value)


class Raw(Noun, frozen=True):
    data: str


class Key(Noun, frozen=True):
    """Where an artifact lies in the artifact repository."""

    key: str


class Artifact(Noun, frozen=True):
    name: str
    path: str | None = None
    optional: bool = False
    source: str | None = field(default=None, name="from")
    from_expression: str | None = None
    raw: Raw | None = None
    s3: Key | None = None
    mode: int | None = None
    archive: Json | None = None
    global_name: str | None = None

    @property
    def has_location(self) -> bool:
        return self.raw is not None or self.s3 is not None


class Arguments(Noun, frozen=True):
    """Also a template's inputs and outputs: three names for the same two lists."""

    parameters: list[Parameter] = []
    artifacts: list[Artifact] = []


class FieldRef(Noun, frozen=True):
    """A field of the pod itself."""

    field_path: str
    api_version: str = ""


class EnvSource(Noun, frozen=True):
    field_ref: FieldRef | None = None


class Env(Noun, frozen=True):
    name: str
    value: str = ""
    value_from: EnvSource | None = None

    @property
    def pods_field(self) -> str:
        """The field of the pod that is the value: `spec.nodeName`; none."""
        return self.value_from.field_ref.field_path if self.value_from and self.value_from.field_ref else ""


class Reference(Noun, frozen=True):
    """A ConfigMap or Secret by its name."""

    name: str = ""
    optional: bool = False


class EnvFrom(Noun, frozen=True):
    """All entries of a ConfigMap or Secret, as variables."""

    config_map_ref: Reference | None = None
    secret_ref: Reference | None = None
    prefix: str = ""

    def references(self) -> list[tuple[str, Reference]]:
        """Kind -> what is named."""
        named = {"ConfigMap": self.config_map_ref, "Secret": self.secret_ref}
        return [(kind, reference) for kind, reference in named.items() if reference]


class VolumeMount(Noun, frozen=True):
    name: str
    mount_path: str
    sub_path: str = ""


class Container(Noun, frozen=True):
    name: str = ""
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    env: list[Env] = []
    env_from: list[EnvFrom] = []
    working_dir: str = ""
    volume_mounts: list[VolumeMount] = []
    mirror_volume_mounts: bool = False
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"
    source: str | None = None
    """A script's text; None for a container."""


class Backoff(Noun, frozen=True):
    duration: str | int = ""
    factor: int | str | None = None
    cap: str | int = ""
    max_duration: str | int = ""


class RetryStrategy(Noun, frozen=True):
    limit: int | str | None = None
    retry_policy: str = ""
    expression: str = ""
    backoff: Backoff | None = None


class ContinueOn(Noun, frozen=True):
    error: bool = False
    failed: bool = False

    def allows(self, phase: str) -> bool:
        return (self.error and phase == "Error") or (self.failed and phase == "Failed")


class Hook(Noun, frozen=True):
    template: str
    arguments: Arguments = Arguments()


class Sequence(Noun, frozen=True):
    count: Scalar = None
    start: Scalar = None
    end: Scalar = None
    format: str = ""


class Task(Noun, frozen=True):
    """One task of a DAG or one step of a step group."""

    name: str
    template: str = ""
    arguments: Arguments = Arguments()
    when: str = ""
    depends: str = ""
    dependencies: list[str] = []
    continue_on: ContinueOn = ContinueOn()
    with_items: list[Any] | None = None
    with_param: str | None = None
    with_sequence: Sequence | None = None
    on_exit: str | None = None
    hooks: dict[str, Hook] = {}

    @property
    def is_loop(self) -> bool:
        return bool(self.with_items or self.with_param or self.with_sequence)

    @property
    def exit_hook(self) -> Hook | None:
        if hook := self.hooks.get("exit"):
            return hook
        return Hook(template=self.on_exit) if self.on_exit else None


class Suspend(Noun, frozen=True):
    """A pause: for so long, or until a person ends it."""

    duration: str | int = ""


class Dag(Noun, frozen=True):
    tasks: list[Task]
    target: str = ""
    fail_fast: bool = True


class Lock(Noun, frozen=True):
    """One mutex, or one semaphore whose limit stands in a ConfigMap."""

    name: str = ""
    namespace: str = ""
    config_map_key_ref: Json | None = None


class Synchronization(Noun, frozen=True):
    mutexes: list[Lock] = []
    semaphores: list[Lock] = []


class Template(Noun, frozen=True):
    name: str = ""
    inputs: Arguments = Arguments()
    outputs: Arguments = Arguments()
    container: Container | None = None
    script: Container | None = None
    init_containers: list[Container] = []
    dag: Dag | None = None
    steps: list[list[Task]] | None = None
    suspend: Suspend | None = None
    volumes: list[Json] = []
    retry_strategy: RetryStrategy | None = None
    timeout: str = ""
    active_deadline_seconds: int | str | None = None
    parallelism: int | None = None
    synchronization: Synchronization | None = None
    pod_spec_patch: str = ""

    @property
    def pod(self) -> Container | None:
        """The main container of a template that becomes a pod."""
        return self.container or self.script


class Spec(Noun, frozen=True):
    entrypoint: str = ""
    templates: list[Template] = []
    arguments: Arguments = Arguments()
    on_exit: str | None = None
    parallelism: int | None = None
    active_deadline_seconds: int | None = None
    retry_strategy: RetryStrategy | None = None
    volumes: list[Json] = []
    volume_claim_templates: list[Json] = []
    service_account_name: str = ""
    priority: int | None = None


class Metadata(Noun, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Workflow(Noun, frozen=True):
    metadata: Metadata
    spec: Spec


def read(text: str) -> Json:
    """The one Workflow in a YAML or JSON text, as plain data.

    Raises ManifestError for a text that holds no Workflow, more than one, or something else.
    """
    try:
        documents = list(load_all(text))
    except DocumentError as error:
        raise ManifestError(str(error)) from error
    if len(documents) != 1:
        raise ManifestError(f"expected one Workflow, found {len(documents)} documents; give each a file of its own")
    document = documents[0]
    kind = document.get("kind") if isinstance(document, dict) else type(document).__name__
    if kind != "Workflow":
        raise ManifestError(f"kind: expected Workflow, found {kind}")
    return document  # type: ignore[no-any-return]  # checked to be a dict by its kind


def view(document: Json) -> Workflow:
    """The typed view of a Workflow document. Raises ManifestError naming the field that does not fit."""
    return convert(document, Workflow)


T = TypeVar("T")


def convert(data: object, noun: type[T]) -> T:
    """Plain data as a noun. Raises ManifestError naming the field that does not fit."""
    try:
        return msgspec.convert(data, noun, strict=True)
    except msgspec.ValidationError as error:
        raise ManifestError(_readable(str(error))) from error


def _readable(message: str) -> str:
    reason, _, place = message.partition(" - at `$")
    return f"{place.rstrip('`').lstrip('.')}: {reason}" if place else reason
