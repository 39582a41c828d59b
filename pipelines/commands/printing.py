"""Which of a run's pods a user means, and what their logs are called."""

from collections.abc import Iterator

import click

from argosy.pipelines import status as s
from argosy.pipelines.commands.mistake import unknown
from argosy.pipelines.runs import Run, Step

Pods = dict[str, tuple[str, Step]]
"""Node -> label and step."""


def selected(run: Run, wanted: str | None) -> Pods:
    """The pods of the steps that are wanted, by a name or a node's identifier; None for all. Raises Mistake."""
    steps = run.steps if wanted is None else _named(run, wanted)
    return {step.node.id: (label, step) for one in steps for label, step in _pods(one, one.name)}


def print_line(label: str, line: str, *, is_labelled: bool) -> None:
    click.echo(f"{label} | {line}" if is_labelled else line)


def unstarted(step: Step) -> str:
    """Why a step has no pod; empty if it has, or had, one."""
    if step.pod.type == s.SUSPEND:
        return "it has no pod, and prints nothing: it is a pause"
    message = f" ({step.node.message.strip()})" if step.node.message else ""
    if step.phase in (s.SKIPPED, s.OMITTED):
        return f"logs unavailable: it did not run{message}"
    if step.phase == s.PENDING:
        return f"logs unavailable: it has not started yet{message}"
    return ""


def _named(run: Run, wanted: str) -> list[Step]:
    found = [step for step in run.walk() if wanted in (step.name, step.node.id, step.node.name, step.pod.id)]
    if not found:
        names = run.names()
        raise unknown(f"step of {run.name} named", wanted, names, f"it has {', '.join(names) or 'none yet'}")
    return found


def _pods(step: Step, label: str) -> Iterator[tuple[str, Step]]:
    if step.is_retry and len(step.children) > 1:
        for number, attempt in enumerate(step.children, 1):
            yield from _pods(attempt, f"{label} attempt {number}")
    elif step.is_retry and step.children:
        yield from _pods(step.children[0], label)
    elif step.children:
        for child in step.children:
            yield from _pods(child, child.name)
    else:
        yield label, step
