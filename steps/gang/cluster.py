"""A gang as an Indexed Job of the cluster that this pod is in.

Nobody else makes or removes Jobs with the run's label: an older gang never writes beside a newer one.
"""

import time
from dataclasses import replace

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.gang import endings, pods
from argosy.steps.gang.account import Account
from argosy.steps.gang.api import WATCH_SECONDS, Api
from argosy.steps.gang.endings import Ending
from argosy.steps.gang.lines import Lines
from argosy.steps.gang.logs import Logs
from argosy.steps.gang.manifest import Json, Manifest
from argosy.steps.gang.objects import Condition, Job, Pod
from argosy.steps.gang.picture import OF_A_JOB, Picture
from argosy.steps.gang.waiting import Waiting

LOOK_SECONDS = 5.0
"""Longest time between two looks at what the gang waits for."""

SETTLE_SECONDS, LOG_SECONDS = 5.0, 10.0
EARLIER_SECONDS = 300.0
"""How long the pods of an earlier attempt may outlive their grace: a kubelet may be busy, its node may be gone."""

LAST_PATIENCE_SECONDS = 10.0
"""For a trouble of the API server when the pod must end soon."""


class ClusterGang:
    def __init__(self, account: Account, manifest: Manifest, lines: Lines) -> None:
        self._manifest = manifest
        self._lines = lines
        self._api = Api(account, lambda trouble: lines.say(trouble, about="api"))
        self._picture = Picture(self._api, manifest.run)
        self._logs = Logs(self._api, lines)
        self._waiting = Waiting(self._api, lines)

    def train(self) -> None:
        """Trains to the end. Raises StepError, as the node whose failure is the cause does; Terminated."""
        with self._picture.drawn():
            self._remove_earlier()
            name = self._manifest.name()
            try:
                self._create(name)
                condition = self._ended(name)
                self._settle(name)
            except BaseException as stop:  # noqa: BLE001 - a signal, too, must leave no Job behind
                self._withdraw()
                raise endings.stopped(stop, self._endings(name)) from None
            finally:
                self._logs.finish(LOG_SECONDS)
            if condition.type == "Failed":
                raise self._failure(name, condition)

    # ------------------------------------------------------------------------------------ Jobs come and go

    def _create(self, name: str) -> None:
        job, group = self._manifest.attempt(name, self._api.account.owner())
        if group is not None:
            self._api.create(self._groups(group), group)
        self._api.create(self._picture.jobs.path, job)
        self._lines.say(f"Job {name} of {self._manifest.nodes} nodes is made")

    def _remove_earlier(self) -> None:
        """Raises StepError (TEMPORARY) when its pods do not end."""
        if self._is_clear():
            return
        self._lines.say("waits for the pods of an earlier attempt to end")
        if not self._removed(self._api, self._manifest.grace_seconds + EARLIER_SECONDS):
            left = ", ".join(f"{pod.metadata.name} on {pod.spec.node_name}" for pod in self._living())
            remedy = "if its node is gone, remove it with `kubectl delete pod --force`"
            raise StepError(ExitCode.TEMPORARY, f"pods of an earlier attempt do not end: {left}; {remedy}")

    def _withdraw(self) -> None:
        self._lines.say("is stopped: its Job is deleted")
        try:
            hasty = replace(self._api, patience_seconds=LAST_PATIENCE_SECONDS)
            if not self._removed(hasty, self._manifest.grace_seconds + LAST_PATIENCE_SECONDS):
                self._lines.say("some of its pods have not ended yet; the cluster ends them")
        except StepError as error:
            self._lines.say(f"its Job could not be deleted: {error.message}; the next attempt does it")

    def _removed(self, api: Api, seconds: float) -> bool:
        self._picture.refresh()
        for name in list(self._picture.jobs.there):
            api.delete(f"{self._picture.jobs.path}/{name}")
            if self._manifest.group is not None:
                api.delete(f"{self._groups(self._manifest.group)}/{name}")
        return self._picture.until(self._is_clear, seconds)

    def _is_clear(self) -> bool:
        return not self._picture.jobs.there and not self._living()

    def _living(self) -> list[Pod]:
        return [pod for pod in self._picture.pods.there.values() if not pod.has_ended]

    def _groups(self, group: Json) -> str:
        plural = f"{group['kind'].lower()}s"
        return f"/apis/{group['apiVersion']}/namespaces/{self._api.account.namespace}/{plural}"

    # ------------------------------------------------------------------------------------ from start to end

    def _ended(self, name: str) -> Condition:
        """Tells what happens until the Job is over, and how it ended."""
        unseen_until = time.monotonic() + 3 * WATCH_SECONDS
        while True:
            job = self._job(name)
            if job is not None and (condition := job.status.condition("Complete", "Failed")):
                return condition
            if name in self._picture.jobs.gone or (job is None and time.monotonic() > unseen_until):
                raise self._deletion(name)
            if job is not None:
                self._tell(job)
            self._picture.wait(LOOK_SECONDS)

    def _settle(self, name: str) -> None:
        """Lets the pods' last states arrive: Jobs and pods are watched apart, and a Job's end may come first."""

        def have_ended() -> bool:
            over = {pod.node for pod, is_gone in self._pods(name) if is_gone or pod.has_ended}
            return over >= set(range(self._nodes(name)))

        if not self._picture.until(have_ended, SETTLE_SECONDS):
            self._picture.refresh()
        self._follow_logs(name)

    def _tell(self, job: Job) -> None:
        self._follow_logs(job.metadata.name)
        self._waiting.tell(job, [pod for pod, is_gone in self._pods(job.metadata.name) if not is_gone])
        workload = self._waiting.workload
        if job.spec.suspend and workload is not None and not workload.spec.active:
            raise self._deletion(job.metadata.name)

    def _follow_logs(self, name: str) -> None:
        for pod, is_gone in self._pods(name):
            self._logs.follow(pod, is_gone=is_gone)

    def _deletion(self, name: str) -> StepError:
        """Why somebody else ended the gang."""
        workload = self._waiting.workload
        if workload is not None and not workload.spec.active:
            why = workload.status.condition("Evicted", "Finished") or workload.status.missing("QuotaReserved")
            return configuration_error(
                f"Kueue has ended the gang for good: {why.message if why else 'no reason given'}"
            )
        return StepError(ExitCode.TEMPORARY, f"somebody has deleted the Job {name}; the same again may work")

    def _failure(self, name: str, condition: Condition) -> StepError:
        if condition.reason == "DeadlineExceeded":
            return configuration_error(f"the gang ran out of time: {condition.message}")
        if found := endings.cause(self._endings(name)):
            return endings.failure(found)
        return StepError(ExitCode.TEMPORARY, f"the Job {name} failed: {condition.reason}: {condition.message}")

    def _endings(self, name: str) -> list[Ending]:
        """How those of its pods ended that ended badly, since it was last admitted.

        A Job that is suspended has its pods deleted. It starts anew after that, a second after its new pods are made
        (kubernetes: pkg/controller/job/job_controller.go, syncJob), so that their age tells nothing.
        """
        job = self._job(name)
        since = job.status.start_time if job is not None else None
        return [
            ending
            for pod, is_gone in self._pods(name)
            if not pod.was_deleted_before(since) and (ending := pods.ending(pod, is_gone=is_gone))
        ]

    def _job(self, name: str) -> Job | None:
        """As it was last seen."""
        return self._picture.jobs.there.get(name) or self._picture.jobs.gone.get(name)

    def _nodes(self, name: str) -> int:
        """As many as were admitted."""
        job = self._job(name)
        return job.spec.parallelism if job is not None else self._manifest.nodes

    def _pods(self, job: str) -> list[tuple[Pod, bool]]:
        """The Job's pods, and whether each was deleted."""
        both = ((self._picture.pods.there, False), (self._picture.pods.gone, True))
        return [
            (pod, is_gone)
            for known, is_gone in both
            for pod in known.values()
            if pod.metadata.labels.get(OF_A_JOB) == job
        ]
