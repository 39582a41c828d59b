"""What the pods of a run on this machine printed."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.pipelines import status as s
from argosy.pipelines.commands.place import shown
from argosy.pipelines.commands.printing import unstarted
from argosy.pipelines.names import pod_name
from argosy.pipelines.runs import Step

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder
    from argosy.pipelines.status import Node

_TAIL_BYTES = 16 * 1024


class LogFiles:
    """The logs of one run."""

    def __init__(self, folder: "RunFolder") -> None:
        self._run = folder.name
        self._pods = folder.pods

    def path(self, node: "Node") -> Path:
        return self._pods / pod_name(self._run, node.name, node.template_name) / "main.log"

    def tail(self, node: "Node", lines: int) -> list[str]:
        """The last lines. A line that was written over with a carriage return, as bars do, counts as written last."""
        try:
            with self.path(node).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                said = file.read().decode(errors="replace")
        except OSError:
            return []
        written = [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in said.split("\n")]
        return [line for line in written if line][-lines:]

    def place(self, node: "Node") -> str:
        path = self.path(node)
        return shown(path) if path.is_file() else ""

    def absence(self, step: Step) -> str:
        """Why a step has no log to show; empty if it has one."""
        path = self.path(step.pod)
        if path.is_file():
            return "" if path.stat().st_size else "it printed nothing"
        if reason := unstarted(step):
            return reason
        message = f" ({step.node.message.strip()})" if step.node.message else ""
        if step.is_active:
            return f"logs unavailable: it has not started yet{message}"
        if step.phase == s.SUCCEEDED or (step.pod.outputs and step.pod.outputs.exit_code):
            return f"logs unavailable: {shown(path)} was deleted"
        return f"logs unavailable: it ended before its pod had started{message}"
