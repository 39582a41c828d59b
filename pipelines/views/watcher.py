"""Shows a run while it goes on, without holding it up.

The runner tells of every change; what is told is only noted. A thread of its own draws, at once after a change and
then at most so often, so that a loop over a thousand items costs as few drawings as a run of one step; and never for
more than a tenth of the time.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from argosy.pipelines.status import Status

SECONDS_BETWEEN_DRAWINGS = 0.125


class Watcher:
    """An observer of a run that draws what it was told last."""

    def __init__(self, draw: Callable[[Status], None], *, redraw_after_seconds: float | None = None) -> None:
        """`redraw_after_seconds` draws although nothing changed, for clocks that go on."""
        self._draw = draw
        self._redraw_after_seconds = redraw_after_seconds
        self._status: Status | None = None
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="argosy-watcher", daemon=True)

    def __call__(self, status: Status) -> None:
        self._status = status
        self._changed.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The last change is drawn before this returns."""
        self._closed.set()
        self._changed.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            while not self._closed.is_set():
                self._changed.wait(self._redraw_after_seconds)
                began = time.monotonic()
                self._draw_last()
                self._closed.wait(max(SECONDS_BETWEEN_DRAWINGS, 9 * (time.monotonic() - began)))
            self._draw_last()
        except BrokenPipeError:  # nobody reads any more: `argosy run ... | head`; the run goes on
            return

    def _draw_last(self) -> None:
        self._changed.clear()
        if self._status is not None:
            self._draw(self._status)
