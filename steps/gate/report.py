"""A gate's report: one page that says what was decided, on which numbers, about which model.

The Argo UI shows it under a policy that allows styles and nothing else (argo: server/artifacts/artifact_server.go:531),
so it has no script, no picture from elsewhere and no link. All text is escaped.
"""

from html import escape

from argosy.steps import files
from argosy.steps.contracts import REPORT
from argosy.steps.gate import section
from argosy.steps.gate.verdict import Measurement
from argosy.steps.gates import Answer, GateInput, Policy, Verdict

WIDTH, HEIGHT, MARGIN = 640, 110, 40
AXIS = 70
"""Where the axis lies, from the top."""

FOLLOWS = {
    Policy.FAIL: "the model does not pass",
    Policy.HOLD: "the run waits for a person, who resumes or stops it",
    Policy.PASS: "the model passes",
}
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1f2328;"
    "background:#fff;overflow-wrap:anywhere}h1{font-size:1.4rem}h2{font-size:1.1rem}"
    "td,th{padding:.2rem 1rem .2rem 0;text-align:left;vertical-align:top}"
    "th{font-weight:600;white-space:nowrap}svg{width:100%;height:auto}svg text{font-size:13px}"
)


def write(inputs: GateInput, measured: Measurement, verdict: Verdict) -> None:
    """Puts the report in the step's output folder, whole."""
    files.write_text(inputs.output / REPORT, page(inputs, measured, verdict))


def page(inputs: GateInput, measured: Measurement, verdict: Verdict) -> str:
    """The report as HTML."""
    colour = section.COLOURS[verdict.answer]
    rows = "".join(f"<tr><th>{escape(name)}<td>{escape(text)}" for name, text in _rows(inputs, measured, verdict))
    title = f"{verdict.gate}: {verdict.answer}"
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
        f'<h1 style="color:{colour}">{escape(title)}</h1><p>{escape(verdict.reason)}</p>'
        f"{_axis(measured, verdict, colour)}<table>{rows}</table>{_sections(measured)}</html>\n"
    )


def _sections(measured: Measurement) -> str:
    return "".join(f"<h2>{escape(one.title)}</h2>{one.html}" for one in measured.sections)


def _rows(inputs: GateInput, measured: Measurement, verdict: Verdict) -> list[tuple[str, str]]:
    rows = [
        ("metric", verdict.metric),
        ("threshold", measured.text(verdict.threshold)),
        ("measured", measured.text(measured.estimate)),
        ("bounds", f"{measured.text(measured.lower)} to {measured.text(measured.upper)}"),
        ("confidence", f"{100 * verdict.confidence:g} % on each side"),
        ("method", verdict.method),
        ("samples", f"{verdict.samples:,}"),
        ("looks", f"{verdict.looks} of {measured.planned}, which share the error" if measured.planned > 1 else ""),
        ("how", measured.conditions),
        ("champion", "" if verdict.champion is None else f"version {verdict.champion}"),
        ("what follows", FOLLOWS[verdict.inconclusive] if verdict.answer is Answer.INCONCLUSIVE else ""),
        ("task", inputs.task),
        ("model", inputs.model),
        ("model sha256", inputs.model_hash),
        ("dataset md5", inputs.dataset_hash),
        ("revision", inputs.revision or "the project's files as they were"),
        ("machine", verdict.machine),
    ]
    return [(name, text) for name, text in rows if text]


def _axis(measured: Measurement, verdict: Verdict, colour: str) -> str:
    """The interval of the bounds and the estimate within it, beside the threshold; nothing where one is no number."""
    if not measured.is_finite:
        return ""
    known = {"threshold": verdict.threshold, "measured": measured.estimate}
    ends = [end for end in (measured.lower, measured.upper) if end is not None]
    low, high = min(*known.values(), *ends), max(*known.values(), *ends)
    span = (high - low) or abs(high) or 1.0

    def at(value: float) -> float:
        return MARGIN + (value - low + 0.1 * span) / (1.2 * span) * (WIDTH - 2 * MARGIN)

    # Without a bound on one side the interval goes on to the end of the axis.
    left = MARGIN if measured.lower is None else at(measured.lower)
    right = WIDTH - MARGIN if measured.upper is None else at(measured.upper)
    threshold, estimate = at(verdict.threshold), at(measured.estimate)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(verdict.reason)}">'
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{AXIS}" y2="{AXIS}" stroke="#8c959f"/>'
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{AXIS}" y2="{AXIS}" stroke="{colour}" stroke-width="8"/>'
        f'<circle cx="{estimate:.1f}" cy="{AXIS}" r="7" fill="#fff" stroke="{colour}" stroke-width="3"/>'
        f'<line x1="{threshold:.1f}" x2="{threshold:.1f}" y1="{AXIS - 30}" y2="{AXIS + 12}" stroke="#1f2328" '
        'stroke-width="2" stroke-dasharray="4 3"/>'
        f"{_label(threshold, AXIS - 38, f'threshold {measured.text(verdict.threshold)}')}"
        f"{_label(estimate, AXIS + 30, f'measured {measured.text(measured.estimate)}')}</svg>"
    )


def _label(x: float, y: int, text: str) -> str:
    anchor = "start" if x < WIDTH / 3 else "end" if x > 2 * WIDTH / 3 else "middle"
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
