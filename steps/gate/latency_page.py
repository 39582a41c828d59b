"""What the latency gate's report shows of the requests: their course, and their distribution."""

import math
from collections.abc import Sequence

from argosy.steps.gate.bounds import quantile_estimate
from argosy.steps.gate.section import Section, table

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 220, 60, 24
COLUMNS = 290
"""Requests side by side share a column, from the fastest to the slowest of them."""
LEAST_MS = 1e-6
"""The axis is logarithmic, and has no place for zero."""
SHOWN = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)


def course(in_order_ms: Sequence[float], at_most_ms: float) -> Section:
    """The latencies in the order of sending, beside the threshold."""
    taken = [max(one, LEAST_MS) for one in in_order_ms]
    low, high = min(*taken, at_most_ms) / 1.2, max(*taken, at_most_ms) * 1.2

    def y(value: float) -> float:
        return (HEIGHT - BOTTOM) * math.log(high / value) / math.log(high / low)

    each = math.ceil(len(taken) / COLUMNS)
    columns = [taken[first : first + each] for first in range(0, len(taken), each)]
    step = (WIDTH - LEFT) / len(columns)
    bars = "".join(
        f'<line x1="{LEFT + (number + 0.5) * step:.1f}" x2="{LEFT + (number + 0.5) * step:.1f}" '
        f'y1="{y(max(column)) - 1:.1f}" y2="{y(min(column)) + 1:.1f}"/>'
        for number, column in enumerate(columns)
    )
    marks = "".join(
        f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3g} ms</text>'
        for value in _ticks(low, high)
    )
    words = f"latency of {len(taken):,} requests in the order of sending"
    return Section(
        "Requests in the order of sending",
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
        f'<g stroke="#0969da" stroke-width="{max(0.8 * step, 1):.1f}">{bars}</g>'
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(at_most_ms):.1f}" y2="{y(at_most_ms):.1f}" stroke="#1f2328" '
        f'stroke-width="2" stroke-dasharray="4 3"/>{marks}'
        f'<text x="{WIDTH}" y="{y(at_most_ms) - 6:.1f}" text-anchor="end">threshold {at_most_ms:.4g} ms</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 6}">first</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 6}" text-anchor="end">last of {len(taken):,}</text></svg>',
    )


def quantiles(taken_ms: Sequence[float]) -> Section:
    ascending = sorted(taken_ms)
    rows = [(_name(one), f"{quantile_estimate(ascending, one):.4g} ms") for one in SHOWN]
    return Section("Distribution", table(("requests", "took at most"), rows))


def _name(quantile: float) -> str:
    return "all" if quantile == 1 else f"{100 * quantile:g} %"


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten within, or both ends where there are none."""
    powers = [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    return powers or [low, high]
