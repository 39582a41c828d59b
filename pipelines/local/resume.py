"""What of an unfinished run is kept when it goes on: all that succeeded and does not depend on what did not."""

from argosy.pipelines import status as s
from argosy.pipelines.status import Node, Status

_LEAVES = (s.POD, s.SKIPPED_NODE)


def forget_unfinished(status: Status) -> list[str]:
    """Drop the nodes that must run again, from the status in place; returns their names.

    A pod that did not succeed is dropped with everything after it, since what came after may come out otherwise now.
    A DAG, steps or retry node that did not succeed is made anew and finds those of its children that are kept.
    """
    attempts = {child: node for node in status.nodes.values() if node.type == s.RETRY for child in node.children}
    dropped = {node.id for node in status.nodes.values() if _must_run_again(node, attempts.get(node.id))}
    pending = [identifier for identifier in dropped if status.nodes[identifier].type in _LEAVES]
    while pending:
        for child in status.nodes[pending.pop()].children:
            if child in status.nodes and child not in dropped:
                dropped.add(child)
                pending.append(child)
    names = {status.nodes[identifier].name for identifier in dropped}
    for node in list(status.nodes.values()):
        if node.name.removesuffix(".onExit") in names and node.name.endswith(".onExit"):
            dropped.add(node.id)
    forgotten = [status.nodes.pop(identifier).name for identifier in dropped]
    for node in status.nodes.values():
        node.children = [child for child in node.children if child in status.nodes]
        node.outbound_nodes = [end for end in node.outbound_nodes if end in status.nodes]
    return forgotten


def _must_run_again(node: Node, retried_by: Node | None) -> bool:
    if retried_by:
        return retried_by.phase != s.SUCCEEDED
    return node.phase not in (s.SUCCEEDED, s.SKIPPED)  # what was skipped stays so, unless something before it goes
