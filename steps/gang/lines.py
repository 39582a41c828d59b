"""What the gang prints: every line says whose it is, and node 0's tell Argo how far the training is."""

import os
import re
import sys
import threading

from argosy.steps.progress import PROGRESS_FILE, append

PROGRESS = re.compile(r"step ([\d,]+)/([\d,]+)\b")
"""How the lines of `steps/progress.py` begin that a training prints."""


class Lines:
    """Whole lines on standard output, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: dict[str, str] = {}
        self._progress = os.environ.get(PROGRESS_FILE)

    def of_node(self, node: int, line: str, container: str = "") -> None:
        """A line that a node printed; `container`: unless it was the main one."""
        self._print(f"node {node} {container}".rstrip(), line)
        if node == 0 and not container and self._progress and (found := PROGRESS.match(line)):
            done, total = (int(number.replace(",", "")) for number in found.groups())
            append(self._progress, done, total)

    def say(self, text: str, about: str = "") -> None:
        """A line of the gang's own; said once until something else is said about the same."""
        with self._lock:
            if self._said.get(about) == text:
                return
            self._said[about] = text
        self._print("gang", text)

    def _print(self, whose: str, line: str) -> None:
        with self._lock:
            sys.stdout.write(f"{whose} | {line}\n")
            sys.stdout.flush()
