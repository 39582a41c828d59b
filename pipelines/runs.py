"""One view of a run, local or on a cluster: the tree of steps that a person reads.

Pure: from an Argo Workflow object to nouns. How they look is told in `views/`.
"""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from argosy.pipelines import held
from argosy.pipelines import status as s
from argosy.pipelines.manifest import Json
from argosy.pipelines.status import INTERRUPTED, Node, Status

_ATTEMPT = re.compile(r"\(\d+\)$")
_LOOP_CHILD = re.compile(r"(.+?)\(\d+:.*\)", re.DOTALL)


class Logs(Protocol):
    """What pods printed."""

    def tail(self, node: Node, lines: int) -> list[str]:
        """The last lines; none where there are none."""

    def place(self, node: Node) -> str:
        """Where a person finds the whole log; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Step:
    """A pod with its attempts, a loop with its items, or a DAG or steps template with what it is made of."""

    node: Node
    name: str
    phase: str
    """Argo's phase, INTERRUPTED or HELD."""
    children: tuple["Step", ...]

    @property
    def is_loop(self) -> bool:
        return self.node.type == s.TASK_GROUP

    @property
    def is_retry(self) -> bool:
        return self.node.type == s.RETRY

    @property
    def is_active(self) -> bool:
        return self.phase in (s.RUNNING, s.PENDING, s.HELD)

    @property
    def is_unsuccessful(self) -> bool:
        return self.phase in (*s.UNSUCCESSFUL, INTERRUPTED)

    @property
    def seconds(self) -> float | None:
        """How long it took, or has taken; None if it did not run."""
        node = self.node
        if not node.started_at or self.phase in (s.SKIPPED, s.OMITTED, s.PENDING):
            return None
        if not node.finished_at and not self.is_active:
            return None  # nobody was there to see its end
        return s.seconds_between(node.started_at, node.finished_at or "")

    @property
    def outputs(self) -> dict[str, str]:
        values = self.node.outputs
        return {one.name: one.value for one in values.parameters if one.value is not None} if values else {}

    @property
    def pod(self) -> Node:
        """The node whose pod counts: that of the last attempt."""
        return self.children[-1].pod if self.is_retry and self.children else self.node

    @property
    def reason(self) -> str:
        """What went wrong: the last attempt's message, unless it is the retrying itself that could not be done."""
        if self.node.phase == s.ERROR and self.pod.phase != s.ERROR:
            return self.node.message
        return self.pod.message or self.node.message

    @property
    def is_leaf(self) -> bool:
        """Whether no other step stands below it; attempts are the step itself."""
        return self.pod.type in (*s.EXECUTABLE, s.SKIPPED_NODE) or not self.children

    def walk(self) -> Iterator["Step"]:
        """The step and all below it, from top to bottom."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator["Step"]:
        """The steps that are pods, or were to be."""
        if self.is_leaf:
            yield self
        elif self.is_retry:
            yield from self.children[-1].leaves()
        else:
            for child in self.children:
                yield from child.leaves()


@dataclass(frozen=True)
class Run:
    """A run as it is now."""

    name: str
    phase: str
    """Argo's phase, INTERRUPTED, HELD or DAMAGED."""
    message: str
    started_at: str
    finished_at: str
    parameters: dict[str, str]
    steps: tuple[Step, ...]

    @property
    def is_active(self) -> bool:
        return self.phase in (s.RUNNING, s.PENDING)

    @property
    def seconds(self) -> float | None:
        if not self.started_at or not (self.finished_at or self.is_active):
            return None
        return s.seconds_between(self.started_at, self.finished_at)

    def walk(self) -> Iterator[Step]:
        for step in self.steps:
            yield from step.walk()

    def names(self) -> list[str]:
        """What its steps are called, each name once; attempts are called as their step is."""
        steps = list(self.walk())
        attempts = {attempt.node.id for step in steps if step.is_retry for attempt in step.children}
        return list(dict.fromkeys(step.name for step in steps if step.node.id not in attempts))

    def leaves(self) -> Iterator[Step]:
        for step in self.steps:
            yield from step.leaves()

    def failures(self) -> list[Step]:
        """The steps that failed by themselves: pods, and what failed although nothing below it did."""
        return [step for top in self.steps for step in _failures(top)]

    @property
    def is_verdict(self) -> bool:
        """Whether nothing but gates ended the run, by their answer."""
        from argosy.steps.contracts import FailureClass, failure_class  # pydantic: only where something failed

        codes = [step.pod.outputs.exit_code if step.pod.outputs else None for step in self.failures()]
        return bool(codes) and all(code and failure_class(int(code)) is FailureClass.VERDICT for code in codes)


def view(workflow: Json, status: Status | None = None, *, is_abandoned: bool = False) -> Run:
    """A run from its Workflow object; `status` in place of the object's own, where that is at hand.

    `is_abandoned` says that nobody works on it any more, although it has not ended.
    """
    status = status or status_of(workflow)
    arguments = workflow.get("spec", {}).get("arguments") or {}
    is_held = held.is_held(workflow, status)
    is_lost = is_abandoned and status.phase in (s.PENDING, s.RUNNING) and not is_held
    is_interrupted = is_lost or status.message == INTERRUPTED
    paused = held.waiting(workflow, status)
    return Run(
        name=workflow["metadata"]["name"],
        phase=s.HELD if is_held else INTERRUPTED if is_interrupted else status.phase or s.PENDING,
        message=_message(status, [node.display_name for node in paused] if is_held else [], is_lost=is_lost),
        started_at=status.started_at or "",
        finished_at=status.finished_at or "",
        parameters={one["name"]: str(one.get("value", "")) for one in arguments.get("parameters") or []},
        # Argo leaves some steps of a run that was stopped as they were, running.
        steps=_Forest(
            status,
            is_abandoned=(is_abandoned and not is_held) or status.phase in s.FULFILLED,
            held={node.id for node in paused},
        ).steps(),
    )


def _message(status: Status, paused: list[str], *, is_lost: bool) -> str:
    """What there is to say about the run as a whole; `paused` are the steps that hold it up."""
    if paused:
        return f"{', '.join(paused)} {'waits' if len(paused) == 1 else 'wait'} for a person"
    if is_lost:
        return "its runner was killed"
    return "" if status.message == INTERRUPTED else status.message


def status_of(workflow: Json) -> Status:
    """The status of a Workflow object; of one that no controller has seen yet, that it waits."""
    return msgspec.convert(workflow.get("status") or {}, Status)


def damaged(name: str, reason: str) -> Run:
    """A run of which no more can be told than why it cannot be read."""
    return Run(name, s.DAMAGED, reason, started_at="", finished_at="", parameters={}, steps=())


class _Forest:
    """The nodes of a run, sorted under those that contain them.

    Argo's edges say what ran after what; what contains what is told by `boundaryID` and by names: an attempt is
    `NAME(0)` and an item of a loop `NAME(0:item)`.
    """

    def __init__(self, status: Status, *, is_abandoned: bool, held: Collection[str]) -> None:
        self._is_abandoned = is_abandoned
        self._held = held
        self._nodes = dict(status.nodes)  # a copy: a run that is watched goes on meanwhile
        self._by_name = {node.name: node for node in self._nodes.values()}
        self._contained: dict[str, list[Node]] = defaultdict(list)
        self._loops: dict[str, tuple[str, str]] = {}
        for node in self._nodes.values():
            if node.type != s.STEP_GROUP:
                self._contained[self._container(node)].append(node)
        order = self._order()
        for nodes in self._contained.values():
            nodes.sort(key=lambda node: (node.started_at or "~", order[node.id]))

    def steps(self) -> tuple[Step, ...]:
        """What the run is made of; the entrypoint's own DAG or steps are not shown as a step."""
        tops = [self._step(node) for node in self._contained[""]]
        return tuple(step for top in tops for step in (top.children if _is_frame(top) else (top,)))

    def _step(self, node: Node) -> Step:
        children = [self._step(child) for child in self._contained.get(node.id, ())]
        if groups := [self._group(key) for key, (owner, _) in self._loops.items() if owner == node.id]:
            children = sorted(children + groups, key=lambda step: step.node.started_at or "~")
        return Step(node, self._title(node), self._phase(node, children), tuple(children))

    def _title(self, node: Node) -> str:
        if node.boundary_id:
            return node.display_name
        return "exit handler" if node.name.endswith(".onExit") else node.template_name or node.display_name

    def _phase(self, node: Node, children: Sequence[Step]) -> str:
        if node.id in self._held and not self._is_abandoned:
            return s.HELD
        is_lost = self._is_abandoned and not node.is_fulfilled
        if is_lost and node.type == s.RETRY and children:
            return children[-1].phase  # Argo leaves the step running when its attempt ends after the run was stopped
        return INTERRUPTED if is_lost or (node.is_unsuccessful and node.message == INTERRUPTED) else node.phase

    def _container(self, node: Node) -> str:
        """The identifier of the node that contains this one; of a loop in steps, which has no node, its name."""
        retried = self._by_name.get(_ATTEMPT.sub("", node.name))
        if retried and retried.type == s.RETRY and retried is not node:
            return retried.id
        boundary = self._nodes.get(node.boundary_id)
        if boundary is None:
            return ""
        if loop := _LOOP_CHILD.fullmatch(node.name, len(boundary.name)):
            name = boundary.name + loop[1]
            if group := self._by_name.get(name):
                return group.id
            self._loops[name] = (boundary.id, loop[1].rpartition(".")[2])
            return name
        return boundary.id

    def _group(self, key: str) -> Step:
        """The step that stands for a loop without a node of its own."""
        children = tuple(self._step(node) for node in self._contained[key])
        phases = {child.phase for child in children}
        ended = [child.node.finished_at or "" for child in children]
        worst = (INTERRUPTED, s.ERROR, s.FAILED) if not phases & {s.PENDING, s.RUNNING, s.HELD} else (s.RUNNING, s.HELD)
        phase = next((one for one in worst if one in phases), s.RUNNING if s.PENDING in phases else s.SUCCEEDED)
        owner, title = self._loops[key]
        node = Node(
            id=key,
            name=key,
            display_name=title,
            type=s.TASK_GROUP,
            phase=phase,
            boundary_id=owner,
            started_at=children[0].node.started_at,
            finished_at=max(ended) if all(ended) else None,
        )
        return Step(node, title, phase, children)

    def _order(self) -> dict[str, int]:
        """Each node's place in a walk along the edges, which tells those apart that began in the same second."""
        order: dict[str, int] = {}
        waiting = deque(sorted(self._nodes, key=lambda identifier: bool(self._nodes[identifier].boundary_id)))
        pending: deque[str] = deque()
        while waiting or pending:
            identifier = pending.popleft() if pending else waiting.popleft()
            if identifier not in order:
                order[identifier] = len(order)
                pending.extend(child for child in self._nodes[identifier].children if child in self._nodes)
        return order


def _is_frame(top: Step) -> bool:
    is_entrypoint = top.node.type in (s.DAG, s.STEPS) and not top.node.name.endswith(".onExit")
    return is_entrypoint and bool(top.children or top.is_active)


def _failures(step: Step) -> Iterator[Step]:
    if not step.is_unsuccessful:
        return
    below = () if step.is_leaf else step.children[-1:] if step.is_retry else step.children
    found = [failed for child in below for failed in _failures(child)]
    yield from found or [step]
