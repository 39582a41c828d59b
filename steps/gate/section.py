"""A part of a gate's report that only some gates have: a table, or a plot."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from argosy.steps.gates import Answer

COLOURS = {Answer.PASS: "#1a7f37", Answer.FAIL: "#c62828", Answer.INCONCLUSIVE: "#9a6700"}


@dataclass(frozen=True)
class Section:
    title: str
    html: str
    """Markup without scripts, pictures or links, in which all text is escaped."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    lines = "".join(f"<tr>{''.join(f'<td>{escape(text)}' for text in row)}" for row in rows)
    return f"<table><tr>{''.join(f'<th>{escape(text)}' for text in head)}{lines}</table>"
