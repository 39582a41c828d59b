"""An Argo server: workflows are put into its namespace, looked at, and told to stop or to go on.

What is sent goes through Hera's service. What is read is kept as the server sent it: Hera's models take half a second
to import, and refuse a whole list for one workflow that they cannot read.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from argosy.pipelines.cluster.connection import Connection
from argosy.pipelines.cluster.errors import LostError, MissingError, UnreadableError
from argosy.pipelines.cluster.session import BLOCK_BYTES, EVENT, PATIENT, Patience, reaching, refusal, session
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import PIPELINE_LABEL
from argosy.pipelines.status import Status

if TYPE_CHECKING:
    from hera.workflows import WorkflowsService

LISTED = 500
"""Workflows looked at to find the newest: the server sorts by start, and one that waits has not started."""

WORKFLOW_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")

_EXECUTORS = re.compile(r"time=\S+ level=[A-Z]+ msg=.* argo=true(?: |$)")

DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Event:
    """A workflow as it is after a change."""

    kind: str
    """Kubernetes' word for the change: ADDED, MODIFIED, DELETED."""
    workflow: Json


@dataclass(frozen=True, slots=True)
class Line:
    """A line that a pod printed."""

    pod: str
    text: str

    @property
    def is_argos(self) -> bool:
        """Whether Argo's executor wrote it, which logs into the main container too (cmd/argoexec: root.go:46)."""
        return bool(_EXECUTORS.match(self.text))


class ArgoServer:
    """One namespace of an Argo server. Every method raises ClusterError."""

    def __init__(self, connection: Connection, patience: Patience = PATIENT) -> None:
        self.connection = connection
        self._session = session(connection, patience)

    def create(self, workflow: Json) -> None:
        """Raises ExistsError, LostError."""
        from argosy.pipelines.cluster.sent import ManifestRequest

        with reaching(self.connection):
            self._service.create_workflow(ManifestRequest(workflow=workflow))

    def stop(self, name: str) -> None:
        """Ask a workflow to end; exit handlers run. May be asked again."""
        from hera.workflows.models import WorkflowStopRequest

        with reaching(self.connection):
            self._service.stop_workflow(name, WorkflowStopRequest())

    def retry(self, name: str) -> None:
        """Ask a workflow that failed to go on with what failed."""
        from hera.workflows.models import WorkflowRetryRequest

        with reaching(self.connection):
            self._service.retry_workflow(name, WorkflowRetryRequest())

    def resume(self, name: str, node: str = "") -> None:
        """End a workflow's pauses well, or that of the node with this identifier."""
        from hera.workflows.models import WorkflowResumeRequest

        request = WorkflowResumeRequest(node_field_selector=f"id={node}") if node else WorkflowResumeRequest()
        with reaching(self.connection):
            self._service.resume_workflow(name, request)

    def workflow(self, name: str) -> Json:
        """A workflow as it is now, from the archive once it is gone from the cluster.

        Raises MissingError, UnreadableError.
        """
        if not WORKFLOW_NAME.fullmatch(name):  # a slash, even a quoted one, would lead elsewhere
            raise MissingError(f"{name!r} is no workflow's name")
        return _readable(self._get(f"workflows/{self.connection.namespace}/{name}"))

    def names(self, *, everyones: bool = False) -> list[str]:
        """The names of argosy's workflows, or of everyone's, newest first."""
        fields = "items.metadata.name,items.metadata.creationTimestamp"
        selector = {} if everyones else {"listOptions.labelSelector": PIPELINE_LABEL}
        options = {"listOptions.limit": str(LISTED), "fields": fields, **selector}
        items = self._get(f"workflows/{self.connection.namespace}", **options).get("items") or []
        found = [one["metadata"] for one in items]
        found.sort(key=lambda one: one.get("creationTimestamp") or "~", reverse=True)
        return [one["name"] for one in found]

    def events(self, name: str, since: str) -> Iterator[Event]:
        """The changes of a workflow since this resource version, until the server ends the stream."""
        options = {"listOptions.fieldSelector": f"metadata.name={name}", "listOptions.resourceVersion": since}
        for result in self._stream(f"workflow-events/{self.connection.namespace}", options):
            yield Event(result.get("type", ""), _readable(result.get("object") or {}))

    def log(
        self, name: str, pod: str = "", *, container: str = "main", follow: bool = False, last: int | None = None
    ) -> Iterator[Line]:
        """What a pod printed, or all of them; a pod that is gone says nothing. `last`: so many lines at most."""
        options = {"podName": pod, "logOptions.container": container}
        options |= {"logOptions.follow": "true"} if follow else {}
        options |= {"logOptions.tailLines": str(last)} if last is not None else {}
        for result in self._stream(f"workflows/{self.connection.namespace}/{name}/log", options):
            yield Line(result.get("podName", ""), result.get("content", ""))

    def artifact(self, name: str, node: str, artifact: str) -> Iterator[str]:
        """The lines of a text that a node gave out, from the artifact repository."""
        place = f"{self.connection.namespace}/workflows/{name}/{quote(node, safe='')}"
        with (
            reaching(self.connection),
            self._session.get(
                f"{self.connection.url}artifact-files/{place}/outputs/{artifact}",
                verify=self.connection.verify,
                hooks={"response": _unjudged},
                stream=True,
            ) as response,
        ):
            if not response.ok:
                message = f"artifact {artifact} of {node}: {response.reason}"
                raise refusal(response.status_code, message, self.connection)
            for line in response.iter_lines(BLOCK_BYTES):
                yield line.decode(errors="replace")

    def page(self, name: str) -> str:
        """The address of a workflow's page in the Argo UI."""
        return f"{self.connection.url}workflows/{self.connection.namespace}/{name}"

    @cached_property
    def _service(self) -> "WorkflowsService":
        from hera.workflows import WorkflowsService

        return WorkflowsService(
            host=self.connection.url,
            verify_ssl=self.connection.verify,  # type: ignore[arg-type]  # requests takes a path as well
            namespace=self.connection.namespace,
            session=self._session,
        )

    def _get(self, path: str, **options: str) -> Json:
        with reaching(self.connection):
            response = self._session.get(
                f"{self.connection.url}api/v1/{path}", params=options, verify=self.connection.verify
            )
            answer: Json = response.json()
            return answer

    def _stream(self, path: str, options: dict[str, str]) -> Iterator[dict[str, Any]]:
        """The results in a stream of server-sent events. Raises LostError where it breaks off with an error."""
        with (
            reaching(self.connection),
            self._session.get(
                f"{self.connection.url}api/v1/{path}",
                params=options,
                headers={"Accept": "text/event-stream"},
                verify=self.connection.verify,
                stream=True,
            ) as response,
        ):
            for line in response.iter_lines(BLOCK_BYTES):
                if line.startswith(EVENT):
                    yield self._result(line.removeprefix(EVENT))

    def _result(self, data: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(data)
            if isinstance(result := answer.get("result"), dict):
                return result
            error = answer.get("error") or answer
            raise refusal(int(error.get("http_code") or 503), str(error.get("message")), self.connection)
        except (ValueError, AttributeError) as error:
            raise LostError(f"{self.connection.url}: a stream with something that is no JSON") from error


def _readable(workflow: Json) -> Json:
    try:
        msgspec.convert(workflow.get("status") or {}, Status)
    except msgspec.ValidationError as error:
        name = (workflow.get("metadata") or {}).get("name")
        raise UnreadableError(f"run {name}: its status cannot be read: {error}; `kubectl get wf {name}`") from error
    return workflow


def _unjudged(_response: object, **_: object) -> None:
    """An artifact is no JSON."""
