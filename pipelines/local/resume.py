"""What of an unfinished run is kept when it goes on: all that succeeded and does not depend on what did not."""

from collections.abc import Collection, Iterable

from argosy.pipelines import status as s
from argosy.pipelines.status import Node, Status

_LEAVES = (s.POD, s.SKIPPED_NODE, s.SUSPEND)
_GROUPS = (s.RETRY, s.STEP_GROUP, s.TASK_GROUP)
_HANDLER = ".onExit"


def forget_unfinished(status: Status, workflow: str, ended_by: Collection[str]) -> list[str]:
    """Drop the nodes that must run again, from the status in place; returns their names.

    What lies in a node that succeeded is never touched. A pod that did not succeed is dropped with everything after
    it, since that may come out otherwise now. A DAG, steps or loop that did not succeed is made anew and finds those
    of its children that are kept; so is a retried step, with the attempts it had unless they are used up. Exit
    handlers run again, with what they are made of. `ended_by`: how the messages of nodes begin that a person, a signal
    or a deadline ended.
    """
    whole = _Whole(status, ended_by)
    dropped = {node.id for node in status.nodes.values() if node.phase != s.SUCCEEDED and not whole.is_kept(node)}
    dropped -= {node.id for node in status.nodes.values() if node.phase == s.SKIPPED}
    pending = [identifier for identifier in dropped if status.nodes[identifier].type in _LEAVES]
    while pending:
        for child in status.nodes[pending.pop()].children:
            if child in status.nodes and child not in dropped:
                dropped.add(child)
                pending.append(child)
    dropped |= {node.id for node in status.nodes.values() if _goes_with(node, dropped, whole, workflow)}
    forgotten = [status.nodes.pop(identifier).name for identifier in dropped]
    for node in status.nodes.values():
        node.children = [child for child in node.children if child in status.nodes]
        node.outbound_nodes = [end for end in node.outbound_nodes if end in status.nodes]
    return forgotten


class _Whole:
    """Which node lies in which: in its retried step, its loop or its step group, and in its boundary."""

    def __init__(self, status: Status, ended_by: Collection[str]) -> None:
        self._nodes = status.nodes
        self._ended_by = tuple(ended_by)
        groups = [node for node in status.nodes.values() if node.type in _GROUPS]
        self._group_of = {child: node for node in groups for child in node.children if not _is_handler(child, status)}

    def nodes(self) -> Iterable[Node]:
        return self._nodes.values()

    def containers(self, node: Node) -> list[Node]:
        """What the node lies in, from the inside out."""
        found = []
        while container := self._group_of.get(node.id) or self._nodes.get(node.boundary_id):
            found.append(container)
            node = container
        return found

    def is_kept(self, node: Node) -> bool:
        """Whether a node that did not succeed stays as it is: all of a success does, and a spent attempt."""
        return any(one.phase == s.SUCCEEDED or self._is_spent(one) for one in (node, *self.containers(node)))

    def is_used_up(self, node: Node) -> bool:
        """Whether it is, or lies in, an attempt of a step that has no attempt left: its attempts are counted anew."""
        retries = [one for one in self.containers(node) if one.type == s.RETRY]
        return any(retry.is_unsuccessful and not self._is_open(retry) for retry in retries)

    def _is_spent(self, node: Node) -> bool:
        """An attempt that failed by itself, of a step that was to be tried again."""
        group = self._group_of.get(node.id)
        is_over = node.is_unsuccessful and not self._was_ended(node)
        return is_over and group is not None and group.type == s.RETRY and self._is_open(group)

    def _is_open(self, retry: Node) -> bool:
        return not retry.is_fulfilled or self._was_ended(retry)

    def _was_ended(self, node: Node) -> bool:
        return node.message.startswith(self._ended_by)


def _is_handler(identifier: str, status: Status) -> bool:
    return identifier in status.nodes and status.nodes[identifier].is_hook and not status.nodes[identifier].is_attempt


def _goes_with(node: Node, dropped: Collection[str], whole: _Whole, workflow: str) -> bool:
    """Nodes that go though they succeeded: what dropped attempts and dropped steps' exit handlers are made of."""
    if node.name.startswith(workflow + _HANDLER) or whole.is_used_up(node):
        return True
    owner, is_handler, _ = node.name.partition(_HANDLER)
    return bool(is_handler) and any(one.name == owner and one.id in dropped for one in whole.nodes())
