"""A run's Jobs and pods as the cluster has them, kept up to date by watches."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from argosy.steps.gang.api import WATCH_SECONDS, Api, LostError
from argosy.steps.gang.manifest import RUN_LABEL
from argosy.steps.gang.objects import Job, Pod

Json = dict[str, Any]
Known = TypeVar("Known", Job, Pod)

LISTED, DELETED = "LISTED", "DELETED"
OF_A_JOB = "batch.kubernetes.io/job-name"
BETWEEN_WATCHES_SECONDS = 1.0
"""A server, or a proxy before it, that ends every watch at once is asked so often and no more."""


class Kind(Generic[Known]):
    """Objects of one kind, by name."""

    def __init__(self, model: type[Known], path: str, selector: str) -> None:
        self._model: type[Known] = model
        self.path = path
        self.selector = selector
        self.there: dict[str, Known] = {}
        self.is_listed = False
        self.gone: dict[str, Known] = {}
        """Those that were deleted, as they were last seen."""

    def take(self, type_: str, objects: list[Json]) -> None:
        """What a listing or a watch says; a listing holds all that there are."""
        self.is_listed = True
        told = {one["metadata"]["name"]: self._model.model_validate(one) for one in objects}
        missing = {
            name: self.there.pop(name)
            for name in list(self.there)
            if (name in told if type_ == DELETED else type_ == LISTED and name not in told)
        }
        if type_ == DELETED:
            self.gone |= missing | told
        else:
            self.gone |= missing
            self.there |= told


@dataclass(frozen=True)
class Change:
    kind: Kind[Any]
    type: str
    objects: list[Json]


class Picture:
    def __init__(self, api: Api, run: str) -> None:
        self._api = api
        namespace = api.account.namespace
        ours = f"{RUN_LABEL}={run}"
        self.jobs = Kind(Job, jobs_path(namespace), ours)
        self.pods = Kind(Pod, pods_path(namespace), f"{ours},{OF_A_JOB}")
        self._changes: queue.SimpleQueue[Change | Exception] = queue.SimpleQueue()
        self._over = threading.Event()

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Kept up to date while the block lasts; at its begin all is there that the cluster has. Raises StepError."""
        for kind in (self.jobs, self.pods):
            threading.Thread(target=self._watch, args=(kind,), daemon=True).start()
        try:
            # From here on the watches miss nothing.
            while not (self.jobs.is_listed and self.pods.is_listed):
                self.wait(WATCH_SECONDS)
            yield
        finally:
            self._over.set()

    def refresh(self) -> None:
        """Asks anew. Raises StepError."""
        for kind in (self.jobs, self.pods):
            kind.take(LISTED, self._listed(kind)[0])

    def wait(self, seconds: float) -> None:
        """Takes the next change, if one comes within this time. Raises StepError when the API server is lost."""
        try:
            change = self._changes.get(timeout=seconds)
        except queue.Empty:
            return
        if isinstance(change, Exception):
            raise change
        change.kind.take(change.type, change.objects)

    def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Waits until this holds of the picture; False when it does not within this time. Raises StepError."""
        deadline = time.monotonic() + seconds
        while not holds():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.wait(left)
        return True

    def _watch(self, kind: Kind[Any]) -> None:
        try:
            while not self._over.is_set():
                listed, version = self._listed(kind)
                self._changes.put(Change(kind, LISTED, listed))
                try:
                    watch = self._api.events(kind.path, labelSelector=kind.selector, resourceVersion=version)
                    for type_, found in watch:
                        self._changes.put(Change(kind, type_, [found]))
                except LostError as lost:
                    if not self._over.is_set():
                        self._api.complain(f"{lost.message}; it is asked again")
                self._over.wait(BETWEEN_WATCHES_SECONDS)
        except Exception as error:  # noqa: BLE001 - whoever waits for changes must not wait for ever
            self._changes.put(error)

    def _listed(self, kind: Kind[Any]) -> tuple[list[Json], str]:
        answer = self._api.read(kind.path, labelSelector=kind.selector)
        return answer["items"], answer["metadata"]["resourceVersion"]


def jobs_path(namespace: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def pods_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"
