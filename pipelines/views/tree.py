"""The steps of a run as lines of text."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from argosy.pipelines import status as s
from argosy.pipelines.runs import Run, Step
from argosy.pipelines.views.answers import note
from argosy.pipelines.views.words import SIGNS, Paint, clean, duration

LOOP_LIMIT = 10
"""A loop with more items than this is shown as one line with counts."""

ITEMS_SHOWN = 5
"""Of such a loop, so many of the items that run or failed are shown below it."""

NAME_WIDTH = 40
_DONE = (s.SUCCEEDED, s.SKIPPED, s.OMITTED)


@dataclass(frozen=True, slots=True)
class Row:
    """One line."""

    depth: int
    name: str
    phase: str
    seconds: float | None
    note: str

    @property
    def is_settled(self) -> bool:
        """Whether nothing about it asks for attention."""
        return self.phase in _DONE


def rows(run: Run, said: Callable[[Step], str] = note) -> list[Row]:
    """The tree from top to bottom; `said` tells what stands at the end of a step's line."""
    return [row for step in run.steps for row in _rows(step, 0, said)]


def text(rows: Sequence[Row], paint: Paint, indent: str = "  ") -> list[str]:
    """Rows in columns: sign, name, phase, time, and what there is to say."""
    width = min(NAME_WIDTH, max((len(_name(row)) for row in rows), default=0))
    return [indent + _line(row, width, paint) for row in rows]


def fitted(rows: list[Row], height: int) -> list[Row]:
    """At most `height` rows: what is settled is left out first, from the top, and counted."""
    surplus = len(rows) - height
    if surplus <= 0:
        return rows
    settled = [index for index, row in enumerate(rows) if row.is_settled][: surplus + 1]
    kept = [row for index, row in enumerate(rows) if index not in set(settled)]
    hidden = len(rows) - len(kept[: height - 1])
    return [Row(0, f"{hidden} more", s.SUCCEEDED, None, "all are shown at the end"), *kept[: height - 1]]


def loop_name(step: Step) -> str:
    """`fan 997/1000`: how many items have ended well, were skipped or left out, of all."""
    done = sum(child.phase in _DONE for child in step.children)
    return f"{step.name} {done}/{len(step.children)}"


def _rows(step: Step, depth: int, said: Callable[[Step], str]) -> Iterator[Row]:
    if step.is_loop:
        yield Row(depth, loop_name(step), step.phase, step.seconds, _counts(step))
        yield from _items(step, depth + 1, said)
    elif step.is_retry:
        yield Row(depth, step.name, step.phase, step.seconds, _with_attempts(step, said(step)))
        yield from _attempts(step, depth + 1, said)
    else:
        yield Row(depth, step.name, step.phase, step.seconds, said(step))
        for child in step.children:
            yield from _rows(child, depth + 1, said)


def _items(step: Step, depth: int, said: Callable[[Step], str]) -> Iterator[Row]:
    shown = step.children
    if len(shown) > LOOP_LIMIT:
        failed = [child for child in shown if child.is_unsuccessful][:ITEMS_SHOWN]
        shown = tuple(failed + [child for child in shown if child.phase == s.RUNNING][: ITEMS_SHOWN - len(failed)])
    for child in shown:
        yield from _rows(child, depth, said)


def _attempts(step: Step, depth: int, said: Callable[[Step], str]) -> Iterator[Row]:
    """Each attempt of a step that was tried more than once; what it was made of if it was no pod."""
    if len(step.children) > 1:
        for number, attempt in enumerate(step.children, 1):
            yield Row(depth, f"attempt {number}", attempt.phase, attempt.seconds, said(attempt))
    if step.children and not step.is_leaf:
        for child in step.children[-1].children:
            yield from _rows(child, depth, said)


def _with_attempts(step: Step, said: str) -> str:
    if len(step.children) < 2:
        return said
    return f"attempt {len(step.children)}" if step.is_active else f"{len(step.children)} attempts"


def _counts(step: Step) -> str:
    counted = Counter(child.phase for child in step.children)
    told = [(SIGNS[phase][1], count) for phase, count in counted.items() if phase not in (s.SUCCEEDED, s.PENDING)]
    return ", ".join(f"{count} {word}" for word, count in told)


def _name(row: Row) -> str:
    return "  " * row.depth + clean(row.name)


def _line(row: Row, width: int, paint: Paint) -> str:
    sign, word, colour = SIGNS[row.phase]
    name = _name(row)
    spaces = " " * (len(name) - len(name.lstrip()))
    start = f"{spaces}{paint(sign, colour)} {name.strip():<{max(0, width - len(spaces))}}"
    line = f"{start}  {paint(f'{word:<11}', colour)} {duration(row.seconds):>7}"
    return f"{line}  {row.note}".rstrip()
