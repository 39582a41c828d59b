"""Which of a training's nodes this one is, as a gang's pod is told, and how the nodes meet."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from argosy.steps.contracts import GANG, LEADER, NODE_RANK, ExitCode, TrainInput
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.train.attempt import Group

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined] # torch exports it without saying so

LAST_CALL = 0.05
"""Share of the time to meet that is left to more nodes when as many as suffice are there."""
ENOUGH_SECONDS = 5.0
"""Time for a word over the network."""


@dataclass(frozen=True)
class Node:
    rank: int
    of: int
    """Nodes at most."""
    at_least: int
    host: str = ""
    port: int = 0
    gang: str = ""

    @property
    def is_leader(self) -> bool:
        return self.rank == 0


def this_node(inputs: TrainInput, environment: Mapping[str, str] = os.environ) -> Node:
    """Raises StepError (CONFIGURATION) when the environment does not say it, or says otherwise than the arguments."""
    at_least = inputs.nodes_at_least or inputs.nodes
    if at_least > inputs.nodes:
        raise configuration_error(
            f"--nodes-at-least={at_least}: is more than --nodes={inputs.nodes}; give a number up to that"
        )
    given = {name: environment.get(name, "") for name in (NODE_RANK, LEADER, GANG)}
    if inputs.nodes == 1:
        if given[NODE_RANK] not in {"", "0"}:
            raise configuration_error(f"{NODE_RANK}={given[NODE_RANK]}: there is one node; give --nodes")
        return Node(rank=0, of=1, at_least=1)
    for name, value in given.items():
        if not value:
            raise configuration_error(
                f"{name}: is not set, and --nodes={inputs.nodes} needs it; a step `gang` starts such a training"
            )
    rank, (host, _, port) = given[NODE_RANK], given[LEADER].rpartition(":")
    if not rank.isdecimal() or int(rank) >= inputs.nodes:
        raise configuration_error(f"{NODE_RANK}={rank}: must be a number from 0 to {inputs.nodes - 1}")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise configuration_error(f"{LEADER}={given[LEADER]}: must be HOST:PORT")
    return Node(int(rank), inputs.nodes, at_least, host, int(port), given[GANG])


def meet(node: Node, owner: str, seconds: float) -> tuple[Group, object]:
    """The nodes of this gang that came: all, or enough of them by the last call. The second value keeps the store.

    Raises StepError (TEMPORARY) when too few came within the time.
    """
    from torch.distributed import (  # type: ignore[attr-defined] # torch exports them without saying so
        DistError,
        PrefixStore,
        TCPStore,
    )

    try:
        # torchrun opens a store of its own at this place; `multi_tenant` lets the two share one server.
        store = TCPStore(
            node.host,
            node.port,
            is_master=node.is_leader,
            timeout=timedelta(seconds=seconds),
            wait_for_workers=False,
            multi_tenant=True,
        )
        words = PrefixStore(node.gang, store)
        return (_gathered(words, node, owner, seconds) if node.is_leader else _joined(words, node, seconds)), store
    except DistError as error:
        place = f"{node.host}:{node.port}"
        what = "cannot be opened" if node.is_leader else f"did not answer within {seconds:.0f} s"
        raise StepError(
            ExitCode.TEMPORARY, f"node {node.rank}: the leader's {place} {what}: {str(error).splitlines()[0]}"
        ) from None


def _gathered(words: "Store", node: Node, owner: str, seconds: float) -> Group:
    others = list(range(1, node.of))
    until = time.monotonic() + seconds
    if node.at_least < node.of:
        _await_count(words, node.at_least, until)
        _await_count(words, node.of, min(until, time.monotonic() + LAST_CALL * seconds))
    else:
        _await_count(words, node.of, until)
    came = [0, *(rank for rank in others if words.check([f"node-{rank}"]))]
    if len(came) < node.at_least:
        missing = ", ".join(str(rank) for rank in others if rank not in came)
        raise StepError(
            ExitCode.TEMPORARY,
            f"{len(came)} of {node.at_least} nodes came within {seconds:.0f} s; missing: {missing}",
        )
    group = Group(owner=owner, nodes=tuple(came))
    words.set("group", group.model_dump_json())
    return group


def _await_count(words: "Store", nodes: int, until: float) -> None:
    """Until so many nodes are there, the leader among them, or the time is over."""
    from torch.distributed import DistStoreError

    try:
        words.wait([f"came-{nodes - 1}"], timedelta(seconds=max(0.1, until - time.monotonic())))
    except DistStoreError:
        return


def _joined(words: "Store", node: Node, seconds: float) -> Group:
    words.set(f"node-{node.rank}", "here")
    words.set(f"came-{words.add('came', 1)}", "here")
    words.wait(["group"], timedelta(seconds=seconds + ENOUGH_SECONDS))
    return Group.model_validate_json(words.get("group"))
