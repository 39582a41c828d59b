"""A run from its start, or from where it goes on, to its end, shown as it goes on."""

import sys
from collections.abc import Callable

import click

from argosy.pipelines.commands.anywhere import OneRun
from argosy.pipelines.commands.output import print_json
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Run, view
from argosy.pipelines.status import HELD, INTERRUPTED, SUCCEEDED, Status
from argosy.pipelines.views import structured
from argosy.pipelines.views.lines import Lines
from argosy.pipelines.views.run import summary
from argosy.pipelines.views.watcher import Watcher
from argosy.pipelines.views.words import is_dumb, paint_for

FAILED, GATE_SAID_NO, HELD_CODE, INTERRUPTED_CODE = 1, 3, 4, 130


def execute(begin: Callable[[Watcher], Status], run: OneRun, workflow: Json, *, as_json: bool) -> int:
    """Run to the end, show it, and return the exit code. `begin` runs it with an observer."""
    final = shown(begin, run, workflow, is_aside=as_json)
    return conclude(view(workflow, final), run, as_json=as_json)


def shown(begin: Callable[[Watcher], Status], run: OneRun, workflow: Json, *, is_aside: bool) -> Status:
    """Run to the end, and show how it goes on; aside: on standard error."""
    if is_aside or not sys.stdout.isatty() or is_dumb():
        lines = Lines(workflow, lambda text: click.echo(text, err=is_aside))
        with Watcher(lines.draw) as watcher:
            return begin(watcher)
    from argosy.pipelines.views.live import LiveTree

    with (
        LiveTree(workflow, run.newest_lines, paint_for(sys.stdout)) as live,
        Watcher(live.draw, redraw_after_seconds=1) as watcher,
    ):
        return begin(watcher)


def conclude(told: Run, run: OneRun, *, as_json: bool) -> int:
    """Tell how a run is, or how it ended; returns the exit code."""
    if as_json:
        print_json(structured.whole(told) | run.address)
    else:
        click.echo("\n" + summary(told, run.logs, paint_for(sys.stdout), run.commands(told)))
    return exit_code(told)


def exit_code(run: Run) -> int:
    if run.phase == SUCCEEDED:
        return 0
    if run.phase == INTERRUPTED:
        return INTERRUPTED_CODE
    if run.phase == HELD:
        return HELD_CODE
    return GATE_SAID_NO if run.is_verdict else FAILED
