"""What a run looks like: the `status` of an Argo Workflow object, local and on a cluster alike.

Names and meanings are Argo's (pkg/apis/workflow/v1alpha1/workflow_types.go: WorkflowStatus, NodeStatus).
"""

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import field

PENDING, RUNNING, SUCCEEDED = "Pending", "Running", "Succeeded"
FAILED, ERROR, SKIPPED, OMITTED = "Failed", "Error", "Skipped", "Omitted"

INTERRUPTED = "Interrupted"
"""The message of a run that its user interrupted; to a reader also the phase of what nobody works on any more."""

HELD = "Held"
"""To a reader the phase of a step that waits for a person, and of a run in which nothing else goes on."""

DAMAGED = "Damaged"
"""To a reader the phase of a run whose state cannot be read."""

FULFILLED = frozenset((SUCCEEDED, FAILED, ERROR, SKIPPED, OMITTED))
UNSUCCESSFUL = frozenset((FAILED, ERROR))

POD, STEPS, STEP_GROUP, DAG, TASK_GROUP = "Pod", "Steps", "StepGroup", "DAG", "TaskGroup"
RETRY, SKIPPED_NODE, SUSPEND = "Retry", "Skipped", "Suspend"

EXECUTABLE = frozenset((POD, SUSPEND))
"""Types of nodes that are made of no others; a run's progress counts them (argo: workflow/progress/updater.go:56)."""


def now() -> str:
    """The time as Argo writes it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_between(started_at: str, finished_at: str) -> float:
    """Seconds between two times as Argo writes them; up to now where the second is empty."""
    start = datetime.fromisoformat(started_at)
    end = datetime.fromisoformat(finished_at) if finished_at else datetime.now(UTC)
    return max(0.0, (end - start).total_seconds())


class Value(msgspec.Struct, rename="camel", omit_defaults=True):
    """A parameter with its value, as a node took or gave it."""

    name: str
    value: str | None = None
    global_name: str | None = None
    description: str | None = None


class File(msgspec.Struct, rename="camel", omit_defaults=True):
    """An artifact that a node took or gave, with its place in the artifact repository."""

    name: str
    path: str | None = None
    s3: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None
    optional: bool = False
    global_name: str | None = None
    archive: dict[str, Any] | None = None


class Values(msgspec.Struct, rename="camel", omit_defaults=True):
    """A node's inputs or outputs."""

    parameters: list[Value] = []
    artifacts: list[File] = []
    result: str | None = None
    exit_code: str | None = None

    def parameter(self, name: str) -> str | None:
        return next((p.value for p in self.parameters if p.name == name), None)


class NodeFlag(msgspec.Struct, rename="camel", omit_defaults=True):
    hooked: bool = False
    retried: bool = False


class Node(msgspec.Struct, rename="camel", omit_defaults=True):
    """One box in the Argo UI's graph."""

    id: str
    name: str
    display_name: str = ""
    type: str = ""
    phase: str = PENDING
    template_name: str = ""
    template_scope: str = ""
    boundary_id: str = field(default="", name="boundaryID")
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    progress: str = ""
    inputs: Values | None = None
    outputs: Values | None = None
    children: list[str] = []
    outbound_nodes: list[str] = []
    host_node_name: str = ""
    node_flag: NodeFlag | None = None

    @property
    def is_fulfilled(self) -> bool:
        return self.phase in FULFILLED

    @property
    def is_unsuccessful(self) -> bool:
        return self.phase in UNSUCCESSFUL

    @property
    def is_hook(self) -> bool:
        return self.node_flag is not None and self.node_flag.hooked

    @property
    def is_attempt(self) -> bool:
        return self.node_flag is not None and self.node_flag.retried

    @property
    def is_completed(self) -> bool:
        """Fulfilled by running: neither skipped nor omitted."""
        return self.phase in (SUCCEEDED, FAILED, ERROR)


class Status(msgspec.Struct, rename="camel", omit_defaults=True):
    """The status of a whole run."""

    phase: str = PENDING
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    progress: str = ""
    nodes: dict[str, Node] = {}
    outputs: Values | None = None
