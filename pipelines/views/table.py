"""Many runs, a line each."""

from collections.abc import Sequence

from argosy.pipelines import status as s
from argosy.pipelines.runs import Run
from argosy.pipelines.views.run import registered
from argosy.pipelines.views.words import SIGNS, Paint, duration, one_line

HEADINGS = ("RUN", "PHASE", "STEPS", "STARTED", "TOOK", "RESULT")
RESULT_WIDTH = 80


def table(runs: Sequence[Run], paint: Paint) -> str:
    """Newest first, as they are given."""
    rows = [_cells(run) for run in runs]
    widths = [max(len(row[column]) for row in (HEADINGS, *rows)) for column in range(len(HEADINGS))]
    lines = ["  ".join(f"{text:<{width}}" for text, width in zip(HEADINGS, widths, strict=True)).rstrip()]
    for run, row in zip(runs, rows, strict=True):
        padded = [f"{text:<{width}}" for text, width in zip(row, widths, strict=True)]
        padded[1] = paint(padded[1], SIGNS[run.phase][2])
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def result(run: Run) -> str:
    """What a run registered, or why it ended badly."""
    if model := registered(run):
        return model
    failed = run.failures()
    if failed and run.phase in s.UNSUCCESSFUL:
        said = failed[0].outputs.get("summary") or failed[0].reason
        return f"{failed[0].name}: {one_line(said)}"
    return one_line(run.message)


def _cells(run: Run) -> tuple[str, ...]:
    sign, word, _ = SIGNS[run.phase]
    leaves = list(run.leaves())
    done = sum(leaf.phase in (s.SUCCEEDED, s.SKIPPED) for leaf in leaves)
    told = result(run)
    cut = told if len(told) <= RESULT_WIDTH else told[: RESULT_WIDTH - 1] + "…"
    started = run.started_at.replace("T", " ").removesuffix("Z") + " UTC" if run.started_at else "-"
    return run.name, f"{sign} {word}", f"{done}/{len(leaves)}", started, duration(run.seconds) or "-", cut
