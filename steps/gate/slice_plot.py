"""The slices of a gate's report: each one's bounds beside the threshold, and the numbers."""

import math
from html import escape
from typing import TYPE_CHECKING

from argosy.steps.gate import section
from argosy.steps.gate.section import Section
from argosy.steps.gates import SlicesInput

if TYPE_CHECKING:
    from argosy.steps.gate.slices import Slice

WIDTH, ROW, LEFT, RIGHT = 640, 24, 200, 20
MOST_SHOWN = 200
LETTERS = 24
"""Of a slice's name, left of its bounds."""


def plot(slices: "list[Slice]", at_least: float) -> str:
    """One line for each slice, the threshold down through all."""
    values = (value for one in slices for value in (one.lower, one.upper, one.estimate))
    known = [value for value in values if value is not None and math.isfinite(value)]
    low, high = min([*known, at_least]), max([*known, at_least])
    span = (high - low) or 1.0

    def at(value: float | None, otherwise: float) -> float:
        return (
            otherwise
            if value is None or not math.isfinite(value)
            else LEFT + (value - low) / span * (WIDTH - LEFT - RIGHT)
        )

    height, lines = ROW * len(slices) + 10, []
    for number, one in enumerate(slices):
        y, colour = ROW * number + ROW / 2 + 5, section.COLOURS[one.part(at_least).answer]
        begin, end = at(one.lower, LEFT), at(one.upper, WIDTH - RIGHT)
        lines.append(
            f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(_short(one.name))}</text>'
            f'<line x1="{begin:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="6"/>'
            f'<circle cx="{at(one.estimate, LEFT):.1f}" cy="{y:.1f}" r="5" fill="#fff" stroke="{colour}" '
            'stroke-width="2"/>'
        )
    threshold = at(at_least, LEFT)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="bounds of each slice">{"".join(lines)}'
        f'<line x1="{threshold:.1f}" x2="{threshold:.1f}" y1="0" y2="{height}" stroke="#1f2328" stroke-width="2" '
        'stroke-dasharray="4 3"/></svg>'
    )


def section_of(inputs: SlicesInput, slices: "list[Slice]") -> Section:
    """The worst slices, as many as a page can hold."""
    shown = slices[:MOST_SHOWN]
    rows = [
        (
            one.name,
            str(one.part(inputs.at_least).answer),
            *map(_text, (one.estimate, one.lower, one.upper)),
            f"{one.samples:,}",
        )
        for one in shown
    ]
    head = (inputs.by, "answer", "measured", "lower bound", "upper bound", "samples")
    more = (
        f"<p>{len(slices) - MOST_SHOWN} slices that are better are not shown.</p>" if len(slices) > MOST_SHOWN else ""
    )
    return Section("Slices, the worst first", plot(shown, inputs.at_least) + section.table(head, rows) + more)


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _text(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
