"""What the pods of a gang print, as it comes."""

import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus

from argosy.steps.errors import StepError
from argosy.steps.gang.api import Api, LostError, RefusedError
from argosy.steps.gang.lines import Lines
from argosy.steps.gang.objects import ContainerStatus, Pod
from argosy.steps.gang.picture import pods_path

BETWEEN_READS_SECONDS = 2.0
NOTHING_TO_READ = {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND}
"""The API server's answers for a container that the kubelet is about to start, and for a pod that is gone."""


@dataclass
class Log:
    """The log of one container of one pod."""

    node: int
    path: str
    container: str
    prefix: str
    is_over: threading.Event = field(default_factory=threading.Event)
    """The container prints no more."""
    printed: str = ""
    """Time of the last line that was printed."""


class Logs:
    def __init__(self, api: Api, lines: Lines) -> None:
        self._api = api
        self._lines = lines
        self._logs: dict[tuple[str, str], tuple[Log, threading.Thread]] = {}

    def follow(self, pod: Pod, *, is_gone: bool = False) -> None:
        """Prints what each container prints from its start on; to be told of every change of the pod."""
        for status in pod.status.containers:
            key = (pod.metadata.uid, status.name)
            if status.has_begun and key not in self._logs and not is_gone:
                self._logs[key] = self._begun(pod, status)
            if key in self._logs and (status.state.terminated is not None or is_gone):
                self._logs[key][0].is_over.set()

    def finish(self, seconds: float) -> None:
        """Gives what was printed time to arrive."""
        for log, _ in self._logs.values():
            log.is_over.set()
        until = time.monotonic() + seconds
        for _, thread in self._logs.values():
            thread.join(max(0, until - time.monotonic()))

    def _begun(self, pod: Pod, status: ContainerStatus) -> tuple[Log, threading.Thread]:
        path = f"{pods_path(self._api.account.namespace)}/{pod.metadata.name}/log"
        is_main = status in pod.status.container_statuses
        log = Log(pod.node, path, status.name, "" if is_main else status.name)
        thread = threading.Thread(target=self._print, args=(log,), daemon=True)
        thread.start()
        return log, thread

    def _print(self, log: Log) -> None:
        try:
            while True:
                # What was over before a reading began is whole when that ends.
                was_over = log.is_over.is_set()
                if self._read(log) and was_over:
                    return
                log.is_over.wait(BETWEEN_READS_SECONDS)
        except StepError as error:
            self._lines.say(f"the log of node {log.node} is not to be had: {error.message}", about="logs")

    def _read(self, log: Log) -> bool:
        """Prints what is new; False when it broke off. Raises RefusedError."""
        known = log.printed
        options = {"container": log.container, "follow": "true", "timestamps": "true"}
        try:
            for line in self._api.lines(log.path, **options, **({"sinceTime": known} if known else {})):
                at, _, text = line.partition(" ")
                if at > known:  # the API server's own notion of `since` is a second wide
                    log.printed = at
                    self._lines.of_node(log.node, text.rstrip("\r"), log.prefix)
        except LostError:
            return False
        except RefusedError as refused:
            if refused.status not in NOTHING_TO_READ:
                raise
        return True
