"""What a pod says of itself: why it ended badly, and what it waits for."""

from datetime import datetime

from argosy.steps.contracts import ExitCode
from argosy.steps.gang.endings import Ending
from argosy.steps.gang.objects import ContainerStatus, Exit, Pod

OUT_OF_MEMORY = "OOMKilled"
BEING_MADE = {"", "ContainerCreating", "PodInitializing"}
"""What every container waits for at first."""


def ending(pod: Pod, *, is_gone: bool) -> Ending | None:
    """How the pod ended badly; None: it did not. `is_gone`: it was deleted."""
    for status in pod.status.containers:
        ended = status.state.terminated
        if ended is not None and ended.exit_code:
            return _of_container(pod, status, ended)
    if pod.status.phase == "Failed" or (is_gone and pod.status.phase != "Succeeded"):
        said = disruption(pod) or pod.status.message or pod.status.reason or "its pod was deleted"
        return Ending(pod.node, _seconds(pod.metadata.deletion_timestamp), ExitCode.TEMPORARY, said)
    return None


def disruption(pod: Pod) -> str:
    """Why the cluster took the pod away; empty: it did not."""
    condition = pod.status.condition("DisruptionTarget")
    return f"{condition.reason}: {condition.message}" if condition else ""


def waits_for(pod: Pod) -> str:
    """Why the pod does not run; empty: it does, or is about to."""
    unscheduled = pod.status.missing("PodScheduled")
    if unscheduled is not None:
        return f"cannot be scheduled: {unscheduled.message}"
    for status in pod.status.containers:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in BEING_MADE:
            return f"waits: {status.name}: {waiting.reason}: {waiting.message}"
    return ""


def _of_container(pod: Pod, status: ContainerStatus, ended: Exit) -> Ending:
    at = _seconds(ended.finished_at or pod.metadata.deletion_timestamp)
    whose = f"{status.name}: " if status in pod.status.init_container_statuses else ""
    if ended.reason == OUT_OF_MEMORY:
        limit = pod.memory_limit(status.name)
        said = f"{whose}was killed: out of memory{f' (limit {limit})' if limit else ''}"
        return Ending(pod.node, at, ExitCode.OUT_OF_MEMORY, said)
    why = disruption(pod)
    words = (ended.message.strip(), f"({why})" if why else "")
    said = " ".join(word for word in words if word)
    return Ending(pod.node, at, ended.exit_code, f"{whose}{said}" if said else "")


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0
