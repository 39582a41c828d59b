"""The nodes of a run as it grows. Every change is recorded at once."""

from typing import Protocol

from argosy.pipelines import names
from argosy.pipelines import status as s
from argosy.pipelines.status import Node, NodeFlag, Status, Values


class Recorder(Protocol):
    """Who keeps the changes."""

    def node(self, node: Node) -> None: ...
    def edge(self, parent: str, child: str) -> None: ...
    def status(self, status: Status) -> None: ...


class Tree:
    """Nodes by name, with Argo's identifiers."""

    def __init__(self, workflow: str, status: Status, recorder: Recorder) -> None:
        self.workflow = workflow
        self.status = status
        self._recorder = recorder
        self._by_name = {node.name: node for node in status.nodes.values()}

    def get(self, name: str) -> Node | None:
        return self._by_name.get(name)

    def add(
        self,
        name: str,
        kind: str,
        phase: str,
        *,
        boundary: Node | None,
        template: str = "",
        message: str = "",
        inputs: Values | None = None,
        flag: NodeFlag | None = None,
    ) -> Node:
        """A new node. One that is fulfilled from the start (skipped, omitted) is finished as well."""
        node = Node(
            id=self.node_id(name),
            name=name,
            display_name=_display_name(name, boundary),
            type=kind,
            phase=phase,
            template_name=template,
            template_scope=f"local/{self.workflow}",
            boundary_id=boundary.id if boundary else "",
            message=message,
            started_at=s.now(),
            finished_at=s.now() if phase in s.FULFILLED else None,
            inputs=inputs,
            node_flag=flag,
            progress="0/1" if kind in s.EXECUTABLE else "",
        )
        self.status.nodes[node.id] = node
        self._by_name[name] = node
        self._recorder.node(node)
        return node

    def mark(self, node: Node, phase: str, message: str = "") -> Node:
        """A node's new phase. A fulfilled one is finished, and a pod that succeeded has made all its progress."""
        node.phase = phase
        node.message = message
        if phase in s.FULFILLED and not node.finished_at:
            node.finished_at = s.now()
        if phase == s.SUCCEEDED and node.progress:
            total = node.progress.partition("/")[2]
            node.progress = f"{total}/{total}"
        self._recorder.node(node)
        return node

    def save(self, node: Node) -> None:
        """Record a node whose fields were set."""
        self._recorder.node(node)

    def connect(self, parent: Node, child: str) -> None:
        """Draw an edge to the node of this name, which may not exist yet."""
        identifier = self.node_id(child)
        if identifier not in parent.children:
            parent.children.append(identifier)
            self._recorder.edge(parent.id, identifier)

    def outbound(self, node: Node) -> list[Node]:
        """The nodes from which edges leave a finished node (workflow/controller/operator.go: getOutboundNodes)."""
        if node.type in (s.POD, s.SKIPPED_NODE, s.SUSPEND):
            return [node]
        if node.type == s.RETRY and node.children:
            return [self.status.nodes[node.children[-1]]]
        inner = node.children if node.type == s.TASK_GROUP else node.outbound_nodes
        return [end for child in inner for end in self.outbound(self.status.nodes[child])]

    def attempts(self, retry: Node) -> list[Node]:
        """The attempts of a node of type Retry; its exit handler is among its children too."""
        return [node for node in map(self.status.nodes.__getitem__, retry.children) if node.is_attempt]

    def save_status(self) -> None:
        self._recorder.status(self.status)

    def node_id(self, name: str) -> str:
        return names.node_id(self.workflow, name)

    def pod_name(self, node: str, template: str) -> str:
        return names.pod_name(self.workflow, node, template)


def _display_name(name: str, boundary: Node | None) -> str:
    if boundary is None or not name.startswith(boundary.name):
        return name
    rest = name[len(boundary.name) :]
    if boundary.type == s.STEPS and "]." in rest:  # NAME[0].STEP
        rest = rest.partition("].")[2]
    return rest.lstrip(".")
