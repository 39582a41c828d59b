"""A gang as processes of this machine: what its pods would run, as many groups of ranks as it has nodes."""

import queue
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from argosy.steps.contracts import GANG, LEADER, NODE_RANK
from argosy.steps.errors import StepError
from argosy.steps.gang import endings
from argosy.steps.gang.containers import ProcessContainer
from argosy.steps.gang.endings import Ending
from argosy.steps.gang.guard import guarded
from argosy.steps.gang.lines import Lines
from argosy.steps.gang.manifest import Manifest

ECHO_SECONDS = 5.0
"""How long the others may go on after a failure that may be the echo of theirs, to say so themselves."""

OUTPUT_SECONDS = 5.0
"""How long the last lines of a process that has ended may take."""


class Node:
    """A process, its lines and its end."""

    def __init__(self, number: int, container: ProcessContainer, group: int, lines: Lines, name: str = "") -> None:
        """`name`: of the container, unless it is the main one. Raises StepError (CONFIGURATION)."""
        self.number = number
        self._container = container
        self._name = name
        self._process = subprocess.Popen(
            container.argv,
            cwd=container.working_folder,
            env=container.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=group,
        )
        self._reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._reader.start()

    def wait(self) -> Ending:
        """Its end, good or bad."""
        code = self._process.wait()
        at = time.time()
        self._reader.join(OUTPUT_SECONDS)
        said = self._container.last_word
        message = f"{self._name}: {said}" if self._name and said else said
        return Ending(self.number, at, 128 - code if code < 0 else code, message)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def _read(self, lines: Lines) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            lines.of_node(self.number, line.rstrip("\n"), self._name)


class Group:
    """Processes that end together."""

    def __init__(self, nodes: list[Node], grace_seconds: float) -> None:
        self._running = {node.number: node for node in nodes}
        self._grace_seconds = grace_seconds
        self._ended: queue.SimpleQueue[Ending] = queue.SimpleQueue()
        for node in nodes:
            threading.Thread(target=self._await, args=(node,), daemon=True).start()

    def end(self) -> StepError | None:
        """Waits until all have ended; one that fails ends the others. Their failure, or None. Raises Terminated."""
        ended: list[Ending] = []
        try:
            while self._running and not any(one.exit_code for one in ended):
                ended += self._next()
            if any(endings.is_echo(one) for one in ended if one.exit_code):
                ended += self._collected(ECHO_SECONDS)
        except BaseException as stop:  # noqa: BLE001 - whatever it was, a signal too, ends the others
            ended += self._stopped()
            if failed := [one for one in ended if one.exit_code]:
                raise endings.stopped(stop, failed) from None
        ended += self._stopped()
        found = endings.cause(one for one in ended if one.exit_code)
        return endings.failure(found) if found else None

    def _stopped(self) -> list[Ending]:
        ended = []
        for number, seconds in ((signal.SIGTERM, self._grace_seconds), (signal.SIGKILL, OUTPUT_SECONDS)):
            for node in self._running.values():
                node.signal(number)
            ended += self._collected(seconds)
        return ended

    def _collected(self, seconds: float) -> list[Ending]:
        """The ends that come within this time."""
        until = time.monotonic() + seconds
        ended = []
        while self._running and (left := until - time.monotonic()) > 0:
            ended += self._next(left)
        return ended

    def _next(self, seconds: float | None = None) -> list[Ending]:
        try:
            ending = self._ended.get(timeout=seconds)
        except queue.Empty:
            return []
        del self._running[ending.node]
        return [ending]

    def _await(self, node: Node) -> None:
        self._ended.put(node.wait())


class MachineGang:
    def __init__(self, manifest: Manifest, output: Path, lines: Lines) -> None:
        self._manifest = manifest
        self._output = output
        self._lines = lines

    def train(self) -> None:
        """Trains to the end. Raises StepError, as the node whose failure is the cause does; Terminated."""
        with guarded() as group:
            for container in self._manifest.preparations:
                # Once, and not on every node: here they share one disk.
                process = ProcessContainer(container, 0, self._output / container.name, {})
                self._end([Node(0, process, group, self._lines, container.name)])
            given = {LEADER: f"127.0.0.1:{_free_port()}", GANG: uuid.uuid4().hex}
            self._end([self._node(number, group, given) for number in range(self._manifest.nodes)])

    def _end(self, nodes: list[Node]) -> None:
        if failure := Group(nodes, self._manifest.grace_seconds).end():
            raise failure

    def _node(self, number: int, group: int, given: Mapping[str, str]) -> Node:
        variables = {**given, NODE_RANK: str(number)}
        folder, nodes = self._output / f"node-{number}", self._manifest.nodes
        process = ProcessContainer(self._manifest.main, number, folder, variables, nodes=nodes)
        return Node(number, process, group, self._lines)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
