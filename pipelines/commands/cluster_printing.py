"""Prints the logs of the pods of a run on a cluster, those that are and those that come."""

import time
from collections import Counter
from collections.abc import Iterator

import click

from argosy.pipelines.cluster.errors import LostError
from argosy.pipelines.cluster.following import (
    BETWEEN_STREAMS_SECONDS,
    GIVEN_UP_AFTER_SECONDS,
    is_over,
    persistent,
)
from argosy.pipelines.cluster.logs import MAIN
from argosy.pipelines.cluster.server import Line
from argosy.pipelines.commands.anywhere import LOST, ClusterRun
from argosy.pipelines.commands.printing import Pods, print_line, selected, unstarted
from argosy.pipelines.runs import Step
from argosy.pipelines.status import SUCCEEDED
from argosy.pipelines.views.words import SIGNS


class ClusterPrinter:
    """Prints each line once, after the name of its step where there is more than one."""

    def __init__(self, run: ClusterRun, step: str | None) -> None:
        """`step`: a name or a node's identifier; None for all. Raises Mistake."""
        self._run = run
        self._wanted = step
        self._pods: Pods = {}
        self._node_of: dict[str, str] = {}
        """Node of each pod; a pod that was looked for in vain has none."""
        self._refresh()
        self._read: Counter[str] = Counter()
        """Lines of each pod that came so far."""

    def print_all(self) -> None:
        """Print what there is, step by step, and for each pod that has nothing why. Raises ClusterError."""
        for label, step in self._pods.values():
            self._print_whole(label, step)

    def follow(self) -> None:
        """Print until the run is over. Raises ClusterError."""
        while True:
            for line in self._lines():
                self._print_new(line)
            self._refresh()
            if is_over(self._run.workflow()):
                break
            time.sleep(BETWEEN_STREAMS_SECONDS)
        for label, step in self._pods.values():
            if not self._read[self._run.logs.pod(step.pod)]:
                self._print_whole(label, step)
        click.echo(f"run {self._run.name}: {SIGNS[self._run.view().phase][1]}", err=True)

    def _lines(self) -> Iterator[Line]:
        """What the pods print from now on, after what has come so far, until the stream ends."""
        repeated: Counter[str] = Counter()
        try:
            for line in self._run.server.log(self._run.name, container=MAIN, follow=True):
                repeated[line.pod] += 1
                if repeated[line.pod] > self._read[line.pod]:
                    self._read[line.pod] += 1
                    yield line
        except LostError:
            click.echo(LOST, err=True)

    def _print_new(self, line: Line) -> None:
        if line.pod not in self._node_of:
            self._refresh()
        node = self._node_of.setdefault(line.pod, "")
        if node in self._pods and not line.is_argos:
            self._print(self._pods[node][0], line.text)

    def _print_whole(self, label: str, step: Step) -> None:
        if reason := unstarted(step):
            click.echo(f"{label}: {reason}")
            return
        is_silent = True
        for line in self._run.logs.lines(step.pod):
            is_silent = False
            self._print(label, line)
        if is_silent:
            click.echo(f"{label}: {self._silence(step)}")

    def _silence(self, step: Step) -> str:
        """Why a step that began, or ended, has nothing to print."""
        if step.is_active or self._run.logs.has_pod(step.pod):
            return "it printed nothing"
        if step.pod.host_node_name or step.phase == SUCCEEDED:
            return "logs unavailable: pod deleted"
        message = f" ({step.reason})" if step.reason else ""
        return f"logs unavailable: it ended before its pod had started{message}"

    def _print(self, label: str, line: str) -> None:
        print_line(label, line, is_labelled=self._wanted is None or len(self._pods) > 1)

    def _refresh(self) -> None:
        persistent(self._run.refresh, GIVEN_UP_AFTER_SECONDS)
        run = self._run.view()
        self._pods = selected(run, self._wanted)
        self._node_of |= {self._run.logs.pod(step.pod): node for node, (_, step) in selected(run, None).items()}
