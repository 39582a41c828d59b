"""How far a run is: its pods' progress, added up (workflow/progress/updater.go)."""

from collections.abc import Iterable

from argosy.pipelines import status as s
from argosy.pipelines.status import Node, Status


def add_up(status: Status) -> None:
    """Give the run, and every node that is made of others, the progress of what is executed, as `done/total`.

    A node counts what comes after it as well: all that its edges lead to.
    """
    status.progress = _sum(status.nodes.values())
    for node in status.nodes.values():
        if node.type not in s.EXECUTABLE and (below := _below(node, status)):
            node.progress = _sum(below)


def _sum(nodes: Iterable[Node]) -> str:
    done = total = 0
    for node in nodes:
        if node.type in s.EXECUTABLE:
            completed, _, all_ = node.progress.partition("/")
            done, total = done + int(completed), total + int(all_)
    return f"{done}/{total}"


def _below(node: Node, status: Status) -> list[Node]:
    """What is executed among all that a node's edges lead to."""
    seen: set[str] = set()
    waiting = [*node.children]
    while waiting:
        identifier = waiting.pop()
        if identifier not in seen:
            seen.add(identifier)
            waiting += status.nodes[identifier].children
    return [found for found in map(status.nodes.__getitem__, seen) if found.type in s.EXECUTABLE]
