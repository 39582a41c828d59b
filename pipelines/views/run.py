"""A run in words: what it is, how it went, what came out, and what to do next."""

from collections.abc import Mapping, Sequence

from argosy.pipelines import status as s
from argosy.pipelines.runs import Logs, Run, Step
from argosy.pipelines.status import INTERRUPTED
from argosy.pipelines.views import tree
from argosy.pipelines.views.answers import kind
from argosy.pipelines.views.words import SIGNS, Paint, clean, duration, one_line

FAILURES_SHOWN = 3
LINES_SHOWN = 10


def headline(run: Run, paint: Paint) -> str:
    """`✔ digits-1a2b3c4d succeeded in 42s`."""
    sign, word, colour = SIGNS[run.phase]
    after = {s.SUCCEEDED: " in ", s.RUNNING: " for "}.get(run.phase, " after ")
    lasted = after + duration(run.seconds) if run.seconds is not None else ""
    return f"{paint(sign, colour)} {run.name} {paint(word, colour)}{lasted}{_cause(run)}"


def summary(run: Run, logs: Logs, paint: Paint, commands: Sequence[str]) -> str:
    """What is told when a run has ended; `commands` can be typed next."""
    steps = tree.text(tree.rows(run), paint)
    return _joined([headline(run, paint)], steps, *_ending(run, logs, paint, commands))


def explanation(run: Run, logs: Logs, paint: Paint, commands: Sequence[str], where: Mapping[str, str]) -> str:
    """Everything worth knowing about a run; `where` tells its place."""
    facts = {"started": run.started_at, "finished": run.finished_at, "dataset": _dataset(run), **where}
    told = [f"  {name:<10}{value}" for name, value in facts.items() if value]
    parameters = ["  parameters", *_table(run.parameters)] if run.parameters else []
    steps = ["  steps", *tree.text(tree.rows(run), paint, indent="    ")]
    return _joined([headline(run, paint)], told, parameters, steps, *_ending(run, logs, paint, commands))


def _cause(run: Run) -> str:
    """Why it ended so, where the steps do not tell it."""
    if run.phase in s.UNSUCCESSFUL and run.is_verdict:
        return ": a gate said no, nothing was published"
    is_told_below = run.phase != INTERRUPTED and any(step.reason for step in run.failures())
    return f": {one_line(run.message)}" if run.message and not is_told_below else ""


def _ending(run: Run, logs: Logs, paint: Paint, commands: Sequence[str]) -> list[list[str]]:
    model = registered(run)
    return [
        *failures(run, logs, paint),
        [f"  registered  {paint(model, 'green')}"] if model else [],
        next_commands(commands),
    ]


def next_commands(commands: Sequence[str]) -> list[str]:
    """What can be typed next, a line each."""
    return [f"  {'next' if number == 0 else '':<4}  {command}" for number, command in enumerate(commands)]


def _joined(*sections: Sequence[str]) -> str:
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def registered(run: Run) -> str:
    """`digits version 1, models:/digits/1`."""
    versions = [step.outputs for step in run.leaves() if kind(step.outputs) == "model"]
    told = (
        f"{one['registered-model']} version {one.get('version', '?')}, {one.get('model-uri', 'of unknown address')}"
        for one in versions
    )
    return "; ".join(map(clean, told))


def failures(run: Run, logs: Logs, paint: Paint) -> list[list[str]]:
    """For each step that failed: why, and the end of its log."""
    failed = run.failures()
    sections = [_failure(step, logs, paint) for step in failed[:FAILURES_SHOWN]]
    if more := failed[FAILURES_SHOWN:]:
        sections.append([f"  {len(more)} more failed: {', '.join(step.name for step in more[:LINES_SHOWN])}"])
    return sections


def _failure(step: Step, logs: Logs, paint: Paint) -> list[str]:
    _, word, colour = SIGNS[step.phase]
    why = [clean(line) for line in (step.reason).splitlines() if line.strip()]
    tail = [clean(line) for line in logs.tail(step.pod, LINES_SHOWN)]
    is_told = all(line in why[0] for line in tail) if why else not tail
    lines = [f"  {paint(f'{step.name} {word}', colour)}" + (f": {why[0]}" if why and step.phase != INTERRUPTED else "")]
    lines += [f"    {line}" for line in (why[1:] if is_told else tail)]
    if place := logs.place(step.pod):
        lines.append(f"    log: {place}")
    return lines


def _dataset(run: Run) -> str:
    """The hash that pins the data; two hashes if two datasets were staged."""
    return ", ".join(step.outputs["dataset-hash"] for step in run.leaves() if kind(step.outputs) == "dataset")


def _table(values: dict[str, str]) -> list[str]:
    width = max(map(len, values))
    return [f"    {name:<{width}}  {clean(value) if value else '(empty)'}" for name, value in values.items()]
