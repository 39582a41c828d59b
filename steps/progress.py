"""How far a step is: for Argo, and for whoever reads its log."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRESS_FILE = "ARGO_PROGRESS_FILE"
"""Environment variable that Argo sets (docs/progress.md). The last line of that file counts, `N/M` with 0 <= N <= M."""

SECONDS_BETWEEN_REPORTS = 1.0


class Progress:
    """Counts towards a total that never changes, and reports at most once a second, and the first and last time."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._file = os.environ.get(PROGRESS_FILE)
        self._reported_at = float("-inf")

    def report(self, done: int, line: Callable[[], str]) -> None:
        """`done` of the total are done; `line` says so to a person, and is made only when it is shown."""
        now = time.monotonic()
        if done < self.total and now - self._reported_at < SECONDS_BETWEEN_REPORTS:
            return
        self._reported_at = now
        sys.stderr.write(f"{line()}\n")
        if self._file and self.total:
            append(self._file, done, self.total)


def append(path: str, done: int, total: int) -> None:
    """Tells Argo. The file is not replaced: Argo's executor made it, and takes its last line
    (workflow/executor/executor.go, monitorProgress).
    """
    with Path(path).open("a", encoding="ascii") as file:
        file.write(f"{done}/{total}\n")
