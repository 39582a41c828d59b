"""The pairs of a comparison's report: on how many samples both models, one of them or none was right."""

from argosy.steps.gate import section
from argosy.steps.gate.section import Section
from argosy.steps.gates import Answer

WIDTH, HEIGHT, MIDDLE = 640, 60, 320


def section_of(both: int, gained: int, lost: int, neither: int) -> Section:
    """`gained` samples only the new model got right, `lost` only the champion: these two decide."""
    rows = [("new right", f"{both:,}", f"{gained:,}"), ("new wrong", f"{lost:,}", f"{neither:,}")]
    return Section("Pairs", _bars(gained, lost) + section.table(("", "champion right", "champion wrong"), rows))


def _bars(gained: int, lost: int) -> str:
    scale = (MIDDLE - 20) / max(gained, lost, 1)
    bars = (
        (MIDDLE - lost * scale, lost, section.COLOURS[Answer.FAIL], "end", MIDDLE - 8, "only the champion"),
        (MIDDLE, gained, section.COLOURS[Answer.PASS], "start", MIDDLE + 8, "only the new one"),
    )
    drawn = "".join(
        f'<rect x="{x:.1f}" y="24" width="{count * scale:.1f}" height="20" fill="{colour}"/>'
        f'<text x="{place}" y="16" text-anchor="{anchor}">{words} right: {count:,}</text>'
        for x, count, colour, anchor, place, words in bars
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="samples that only one model got right">{drawn}'
        f'<line x1="{MIDDLE}" x2="{MIDDLE}" y1="4" y2="{HEIGHT - 4}" stroke="#1f2328"/></svg>'
    )
