"""Suspend templates: a pause for so long, or until a person ends it (workflow/controller/operator.go:3784)."""

import getpass
from collections.abc import Iterable

from argosy.pipelines import status as s
from argosy.pipelines.local.interrupt import Interrupt, after
from argosy.pipelines.local.retry import time_limit
from argosy.pipelines.local.tree import Tree
from argosy.pipelines.manifest import Suspend
from argosy.pipelines.status import Node

_OVER = "the pause is over"


async def wait(node: Node, suspend: Suspend, tree: Tree, interrupt: Interrupt) -> Node:
    """Wait until the duration has passed since the node began. Without one the node is left running, and with it all
    that contains it: the run ends here, and goes on once a person has released the node. Raises AmountError.
    """
    patience = time_limit(suspend.duration)
    tree.mark(node, s.RUNNING)
    with interrupt.stop() as stop:
        if patience is None and not stop.event.is_set():
            return node
        left = None if patience is None else patience - s.seconds_between(node.started_at or "", "")
        with after(left, stop, _OVER):
            await stop.event.wait()
    return tree.mark(node, s.SUCCEEDED) if stop.reason == _OVER else tree.mark(node, s.FAILED, stop.reason)


def release(nodes: Iterable[Node]) -> None:
    """End pauses well, with the name of the person who did (workflow/util/util.go:434)."""
    for node in nodes:
        node.phase, node.message, node.finished_at = s.SUCCEEDED, f"Resumed by: {getpass.getuser()}", s.now()
        node.progress = "1/1"
