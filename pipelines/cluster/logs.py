"""What the pods of a workflow printed, as far as they or the archive still have it."""

from collections.abc import Iterable, Iterator

from argosy.pipelines.cluster.errors import ClusterError
from argosy.pipelines.cluster.server import ArgoServer, Line
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import pod_name
from argosy.pipelines.status import Node

MAIN = "main"
EXECUTORS = "init"
"""Argo's own container, which prints in every pod."""

ITS_LINES = 8
"""More than Argo's executor writes at the end of a container's log."""

ARCHIVED = "main-logs"
"""The artifact that holds a pod's log where the cluster archives logs (workflow/executor/executor.go: SaveLogs)."""


class PodLogs:
    """The logs of one workflow. Raises ClusterError."""

    def __init__(self, server: ArgoServer, workflow: Json) -> None:
        self._server = server
        self._name = workflow["metadata"]["name"]
        stored = (workflow.get("status") or {}).get("storedTemplates") or {}  # of templates kept in the cluster
        self._templates = [*(workflow["spec"].get("templates") or []), *stored.values()]

    def pod(self, node: Node) -> str:
        return pod_name(self._name, node.name, node.template_name)

    def lines(self, node: Node) -> Iterator[str]:
        """All lines, those of the template's init containers first."""
        for container in self._init_containers(node):
            yield from self._log(node, container)
        main = self._log(node, MAIN)
        first = next(main, None)
        if first is None:
            yield from self._archived(node)
        else:
            yield first
            yield from main

    def tail(self, node: Node, lines: int) -> list[str]:
        """The last lines of what printed last; none where there are none, or no connection."""
        try:
            for container in (MAIN, *reversed(self._init_containers(node))):
                if said := _written(self._log(node, container, last=lines + ITS_LINES)):
                    return said[-lines:]
            return _written(self._archived(node))[-lines:]
        except ClusterError:
            return []

    def place(self, _node: Node) -> str:
        return ""

    def has_pod(self, node: Node) -> bool:
        """Whether the pod of a node that has ended is still there."""
        return any(True for _ in self._server.log(self._name, self.pod(node), container=EXECUTORS, last=1))

    def _log(self, node: Node, container: str, last: int | None = None) -> Iterator[str]:
        lines = self._server.log(self._name, self.pod(node), container=container, last=last)
        return (line.text for line in lines if not line.is_argos)

    def _archived(self, node: Node) -> Iterator[str]:
        is_archived = any(one.name == ARCHIVED for one in (node.outputs.artifacts if node.outputs else ()))
        lines = self._server.artifact(self._name, node.id, ARCHIVED) if is_archived else ()
        return (line for line in lines if not Line("", line).is_argos)

    def _init_containers(self, node: Node) -> list[str]:
        found = (one for one in self._templates if one.get("name") == node.template_name)
        return [one["name"] for template in found for one in template.get("initContainers") or []]


def _written(lines: Iterable[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]
