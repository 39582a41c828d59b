"""Phases, times and amounts as a person reads them; each phase has a word and a sign, so that no colour is needed."""

import os
import re
from collections.abc import Callable
from typing import IO

import click

from argosy.pipelines import status as s
from argosy.pipelines.status import DAMAGED, INTERRUPTED

Paint = Callable[[str, str], str]
"""Text and the name of a colour -> the text to print."""

SIGNS = {
    s.PENDING: ("○", "waiting", "bright_black"),
    s.RUNNING: ("●", "running", "cyan"),
    s.SUCCEEDED: ("✔", "succeeded", "green"),
    s.FAILED: ("✖", "failed", "red"),
    s.ERROR: ("✖", "errored", "red"),
    s.SKIPPED: ("↷", "skipped", "bright_black"),
    s.OMITTED: ("·", "not run", "bright_black"),
    s.HELD: ("⏸", "held", "yellow"),
    DAMAGED: ("✖", "damaged", "red"),
    INTERRUPTED: ("■", "interrupted", "yellow"),
}
"""Phase -> sign, word and colour."""

# What a program may send to a terminal beside text: escape sequences, and every control character but the tab.
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def plain(text: str, _colour: str) -> str:
    """A Paint that leaves the text as it is."""
    return text


def coloured(text: str, colour: str) -> str:
    """A Paint for terminals."""
    return click.style(text, fg=colour)


def paint_for(stream: IO[str]) -> Paint:
    """Colours on a terminal, unless the user wants none (https://no-color.org)."""
    return coloured if stream.isatty() and not os.environ.get("NO_COLOR") and not is_dumb() else plain


def is_dumb() -> bool:
    """Whether the terminal can do nothing but print."""
    return os.environ.get("TERM") == "dumb"


def clean(text: str) -> str:
    """One line without anything that would act on a terminal."""
    return _CONTROL.sub("", text)


def one_line(message: str) -> str:
    """A message in one line: of several lines the first and the last, where causes are told."""
    lines = [line for part in message.splitlines() if (line := clean(part).strip())]
    return " … ".join(dict.fromkeys((lines[0], lines[-1]))) if lines else ""


def duration(seconds: float | None) -> str:
    """`12s`, `1m 05s`, `2h 03m`; nothing for None."""
    if seconds is None:
        return ""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def size(count: float) -> str:
    """Bytes: `999 B`, `1.2 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def amount(count: int, noun: str) -> str:
    """`1 step`, `1,797 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
