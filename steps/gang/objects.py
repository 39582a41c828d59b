"""What the step reads of Kubernetes' objects."""

from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

INDEX = "batch.kubernetes.io/job-completion-index"


class View(BaseModel):
    """Some fields of an object; what else it holds is let be."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, fields: Any) -> Any:  # noqa: ANN401 - any JSON; Go writes null for what is not there
        if not isinstance(fields, dict):
            return fields
        return {name: value for name, value in fields.items() if value is not None}


class Metadata(View):
    name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: datetime | None = None
    """When its grace is over."""
    deletion_grace_period_seconds: int = 0


class Condition(View):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class Status(View):
    conditions: list[Condition] = []

    def condition(self, *kinds: str) -> Condition | None:
        """The first of these that holds."""
        return next((one for one in self.conditions if one.type in kinds and one.status == "True"), None)

    def missing(self, kind: str) -> Condition | None:
        """The condition of this kind, when it does not hold."""
        return next((one for one in self.conditions if one.type == kind and one.status != "True"), None)


class Exit(View):
    exit_code: int
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class Waiting(View):
    reason: str = ""
    message: str = ""


class State(View):
    waiting: Waiting | None = None
    running: dict[str, Any] | None = None
    terminated: Exit | None = None


class ContainerStatus(View):
    name: str
    state: State = State()

    @property
    def has_begun(self) -> bool:
        return self.state.running is not None or self.state.terminated is not None


class PodStatus(Status):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    init_container_statuses: list[ContainerStatus] = []
    container_statuses: list[ContainerStatus] = []

    @property
    def containers(self) -> list[ContainerStatus]:
        """In the order in which they run."""
        return [*self.init_container_statuses, *self.container_statuses]


class PodContainer(View):
    name: str
    resources: dict[str, Any] = {}


class PodSpec(View):
    node_name: str = ""
    init_containers: list[PodContainer] = []
    containers: list[PodContainer] = []


class Pod(View):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def node(self) -> int:
        """Which of the gang's nodes it is."""
        return int(self.metadata.annotations.get(INDEX, -1))

    @property
    def has_ended(self) -> bool:
        return self.status.phase in {"Succeeded", "Failed"}

    def was_deleted_before(self, moment: datetime | None) -> bool:
        """Whether somebody asked for its end before a moment; both in whole seconds."""
        until, grace = self.metadata.deletion_timestamp, timedelta(seconds=self.metadata.deletion_grace_period_seconds)
        return bool(until and moment and until - grace < moment)

    def memory_limit(self, container: str) -> str:
        of_all = (*self.spec.init_containers, *self.spec.containers)
        limits = next((one.resources.get("limits") or {} for one in of_all if one.name == container), {})
        return str(limits.get("memory", ""))


class JobSpec(View):
    suspend: bool = False
    parallelism: int = 0
    """Nodes: fewer than were asked for where a queue has admitted a part."""


class JobStatus(Status):
    start_time: datetime | None = None
    """Since when its pods may run; anew each time that it is resumed."""


class Job(View):
    metadata: Metadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class WorkloadSpec(View):
    active: bool = True


class Workload(View):
    """Kueue's side of a Job."""

    metadata: Metadata
    spec: WorkloadSpec = WorkloadSpec()
    status: Status = Status()
