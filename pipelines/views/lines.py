"""A run as it goes on, where no terminal is: a line for each change of a step's phase."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

from argosy.pipelines import status as s
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Step, view
from argosy.pipelines.status import Status
from argosy.pipelines.views.answers import note
from argosy.pipelines.views.tree import LOOP_LIMIT, loop_name
from argosy.pipelines.views.words import SIGNS, clean, duration, one_line


class Lines:
    """Writes what is new since it drew last. Of a long loop that is the loop itself and the items that failed; of a
    run that is resumed, nothing that it keeps.
    """

    def __init__(self, workflow: Json, write: Callable[[str], None]) -> None:
        self._workflow = workflow
        self._write = write
        self._began = time.monotonic()
        kept = (step for _, step in _told(view(workflow).steps, "") if step.phase in (s.SUCCEEDED, s.SKIPPED))
        self._message = ""
        self._written: dict[str, set[str]] = defaultdict(set)
        for step in kept:
            self._written[step.node.id].add(step.phase)

    def draw(self, status: Status) -> None:
        if status.phase in (s.PENDING, s.RUNNING) and status.message not in ("", self._message):
            self._message = status.message
            self._write(f"{time.monotonic() - self._began:8.1f}s  {status.message}")
        for path, step in _told(view(self._workflow, status).steps, ""):
            state = _obstacle(step) if step.phase == s.PENDING else step.phase
            if state and state not in self._written[step.node.id]:
                self._written[step.node.id].add(state)
                self._write(f"{time.monotonic() - self._began:8.1f}s  {line(path, step)}")


def line(path: str, step: Step) -> str:
    """`train: succeeded in 12s, 400 steps, loss 0.0312`."""
    lasted = f" in {duration(step.seconds)}" if step.phase == s.SUCCEEDED else ""
    said = "" if step.phase == s.RUNNING else note(step)
    return f"{clean(path)}: {SIGNS[step.phase][1]}{lasted}" + (f", {said}" if said else "")


def _obstacle(step: Step) -> str:
    """What keeps a step waiting. A single word, such as ContainerCreating, is every pod's beginning and no obstacle."""
    message = one_line(step.node.message)
    return message if " " in message else ""


def _told(steps: tuple[Step, ...], path: str) -> Iterator[tuple[str, Step]]:
    """Each step that has lines of its own: before what it is made of when it begins, after it when it has ended."""
    for step in steps:
        own = (f"{path}{loop_name(step) if step.is_loop and not step.is_active else step.name}", step)
        inner = tuple(_inner(step, path))
        yield from (own, *inner) if step.is_active else (*inner, own)


def _inner(step: Step, path: str) -> Iterator[tuple[str, Step]]:
    name = f"{path}{step.name}"
    if step.is_loop:
        is_long = len(step.children) > LOOP_LIMIT
        yield from _told(tuple(one for one in step.children if one.is_unsuccessful or not is_long), path)
        return
    parts = step.children
    if step.is_retry:
        if len(parts) > 1:
            yield from ((f"{name} attempt {number}", attempt) for number, attempt in enumerate(parts, 1))
        parts = parts[-1].children if parts else ()
    yield from _told(parts, f"{name}/")
