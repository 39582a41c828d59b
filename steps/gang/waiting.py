"""Why a gang does not run yet: asked of whoever keeps it waiting, as far as the pod's account may ask."""

import time
from dataclasses import replace
from http import HTTPStatus

from argosy.steps.errors import StepError
from argosy.steps.gang.api import Api, RefusedError
from argosy.steps.gang.lines import Lines
from argosy.steps.gang.objects import Job, Pod, Workload
from argosy.steps.gang.pods import waits_for

QUEUE = "/apis/kueue.x-k8s.io"
OF_JOB = "kueue.x-k8s.io/job-uid"
"""Label of a Workload (kueue: pkg/controller/constants/constants.go)."""
PRIORITY = "kueue.x-k8s.io/priority-class"

BETWEEN_LOOKS_SECONDS = 5.0
SILENT_SECONDS = 15.0
"""How long a cluster may take to make pods and containers before its events are asked why."""

OPTIONAL_PATIENCE_SECONDS = 5.0


class Waiting:
    """Says why one Job waits."""

    def __init__(self, api: Api, lines: Lines) -> None:
        self._api = replace(api, patience_seconds=OPTIONAL_PATIENCE_SECONDS)
        self._lines = lines
        self._looked_at = float("-inf")
        self._version: str | None = None
        self._was_suspended = False
        self._has_run = False
        self._silent_since = time.monotonic()
        self.workload: Workload | None = None
        """Kueue's side of the Job, as it was last seen."""

    def tell(self, job: Job, pods: list[Pod]) -> None:
        """To be told of every change, and now and then."""
        if job.spec.suspend:
            self._tell_of_queue(job)
        else:
            if self._was_suspended:
                self._was_suspended = False
                self._lines.say("is admitted", about="queue")
            self._tell_of_pods(job, pods)

    def _tell_of_queue(self, job: Job) -> None:
        if not self._is_time(now=not self._was_suspended):
            return
        is_new, self._was_suspended = not self._was_suspended, True
        try:
            self.workload = self._found(job)
        except StepError as error:
            self._cannot(error)
            return
        if self.workload is None:
            if not is_new:
                self._lines.say(_unclaimed(job), about="queue")
            return
        evicted = self.workload.status.condition("Evicted")
        if evicted is not None and self._has_run:
            self._has_run = False
            self._lines.say(f"is pre-empted: {evicted.message}", about="queue")
        elif reserved := self.workload.status.missing("QuotaReserved"):
            self._lines.say(f"waits for quota: {reserved.message}", about="queue")

    def _tell_of_pods(self, job: Job, pods: list[Pod]) -> None:
        self._has_run = self._has_run or any(pod.status.phase == "Running" for pod in pods)
        for pod in pods:
            if words := waits_for(pod):
                self._lines.say(f"node {pod.node} {words}", about=f"node {pod.node}")
        silent = [pod for pod in pods if pod.status.phase == "Pending" and not waits_for(pod)]
        if pods and not silent:
            self._silent_since = time.monotonic()
        elif time.monotonic() - self._silent_since > SILENT_SECONDS and self._is_time():
            whose, uid = (f"node {silent[0].node}", silent[0].metadata.uid) if silent else ("the Job", job.metadata.uid)
            if words := self._warning(uid):
                self._lines.say(f"{whose} waits: {words}", about="events")

    def _is_time(self, *, now: bool = False) -> bool:
        if not now and time.monotonic() - self._looked_at < BETWEEN_LOOKS_SECONDS:
            return False
        self._looked_at = time.monotonic()
        return True

    def _found(self, job: Job) -> Workload | None:
        """Raises StepError."""
        try:
            if self._version is None:
                self._version = self._api.read(QUEUE)["preferredVersion"]["version"]
        except RefusedError as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise
            return None  # no Kueue here
        path = f"{QUEUE}/{self._version}/namespaces/{self._api.account.namespace}/workloads"
        found = self._api.read(path, labelSelector=f"{OF_JOB}={job.metadata.uid}")["items"]
        return Workload.model_validate(found[0]) if found else None

    def _warning(self, uid: str) -> str:
        """The last trouble that the cluster had with an object."""
        path = f"/api/v1/namespaces/{self._api.account.namespace}/events"
        try:
            found = self._api.read(path, fieldSelector=f"involvedObject.uid={uid},type=Warning")["items"]
        except StepError as error:
            self._cannot(error)
            return ""
        last: dict[str, object] = max(
            found, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime")), default={}
        )
        return str(last.get("message", ""))

    def _cannot(self, error: StepError) -> None:
        self._lines.say(f"cannot tell why it waits: {error.message}", about="rights")


def _unclaimed(job: Job) -> str:
    """Why nobody has a Workload of a suspended Job: Kueue makes none for a priority that is not there, and is silent
    (kueue: pkg/controller/jobframework/reconciler.go, handleJobWithNoWorkload).
    """
    if priority := job.metadata.labels.get(PRIORITY):
        return f"is suspended, and Kueue has not taken it up; is there a WorkloadPriorityClass {priority}?"
    return "is suspended, and waits until somebody resumes its Job"
