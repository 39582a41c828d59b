"""A run as it goes on, on a terminal: the tree of its steps, drawn anew at every change."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.constrain import Constrain
from rich.live import Live
from rich.text import Text

from argosy.pipelines import status as s
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Logs, Step, view
from argosy.pipelines.status import Node, Status
from argosy.pipelines.views import tree
from argosy.pipelines.views.answers import note
from argosy.pipelines.views.run import headline
from argosy.pipelines.views.words import Paint, clean, duration

BAR_CELLS = 20
ECHO = 4  # columns left free for two ^C: one that wraps moves the cursor, and the first line would stay for ever
ROOM = 3  # lines of the terminal that the tree leaves free: the headline, the prompt, and one


class LiveTree:
    """Draws on a terminal; what it drew is gone when it is closed."""

    def __init__(self, workflow: Json, logs: Logs, paint: Paint) -> None:
        self._workflow = workflow
        self._logs = logs
        self._paint = paint
        self._rates = Rates(time.monotonic)
        self._live = Live(console=Console(highlight=False), auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def draw(self, status: Status) -> None:
        run = view(self._workflow, status)
        rows = tree.fitted(tree.rows(run, self._said), self._live.console.height - ROOM)
        lines = [headline(run, self._paint), *tree.text(rows, self._paint)]
        text = Text.from_ansi("\n".join(lines), no_wrap=True, overflow="ellipsis", end="")
        self._live.update(Constrain(text, self._live.console.width - ECHO), refresh=True)

    def _said(self, step: Step) -> str:
        """What a running pod has done so far and printed last; of any other step, its note."""
        pod = step.pod
        if step.phase != s.RUNNING or pod.type != s.POD:
            return note(step)
        last = self._logs.tail(pod, 1)
        parts = [self._rates.progress(pod), clean(last[0]).strip() if last else ""]
        return "  ".join(part for part in parts if part) or note(step)


class Rates:
    """Progress of running pods, with the rate and the time left that follow from it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: dict[str, tuple[int, float]] = {}

    def progress(self, pod: Node) -> str:
        """`━━━━━╌╌╌╌╌ 50/100  5.0/s, 10s left`; nothing while a pod has told nothing."""
        done, _, total = pod.progress.partition("/")
        if not (done.isdecimal() and total.isdecimal()) or int(total) <= 1:
            return ""
        return f"{bar(int(done), int(total))} {pod.progress}{self._rate(pod.id, int(done), int(total))}"

    def _rate(self, identifier: str, done: int, total: int) -> str:
        now = self._clock()
        first, since = self._first.setdefault(identifier, (done, now))
        if done <= first or now <= since:
            return ""
        rate = (done - first) / (now - since)
        return f"  {rate:.3g}/s, {duration((total - done) / rate)} left"


def bar(done: int, total: int) -> str:
    """How much of it is done, as a bar."""
    filled = BAR_CELLS * min(done, total) // total
    return "━" * filled + "╌" * (BAR_CELLS - filled)
