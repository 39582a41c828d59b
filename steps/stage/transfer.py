"""How far a fetch is, in words: `staged 1,234/10,000 files, 24.7/200.0 MB, 85.3 MB/s, 2 s left`."""

import math
import time

from argosy.steps.progress import Progress


class Transfer:
    """A fetch of so many files and bytes; without bytes where nobody knows them before."""

    def __init__(self, files: int, size: int | None) -> None:
        self._files, self._size = files, size
        self._started = time.monotonic()
        self._progress = Progress(max(1, math.ceil(size / 1e6)) if size is not None else files)

    def report(self, files: int, size: int) -> None:
        """So many files are there, and so many bytes have come."""
        is_done = files == self._files
        done = files if self._size is None else min(int(size / 1e6), self._progress.total - 1)
        self._progress.report(self._progress.total if is_done else done, lambda: self._line(files, size))

    def _line(self, files: int, size: int) -> str:
        rate = size / max(time.monotonic() - self._started, 1e-3)
        of_all = f"/{self._size / 1e6:,.1f}" if self._size is not None else ""
        line = f"staged {files:,}/{self._files:,} files, {size / 1e6:,.1f}{of_all} MB, {rate / 1e6:,.1f} MB/s"
        if self._size is None or not rate or files == self._files:
            return line
        return f"{line}, {max(0, self._size - size) / rate:,.0f} s left"
