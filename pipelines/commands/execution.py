"""A run from its start, or from where it goes on, to its end, shown as it goes on."""

import sys
from collections.abc import Callable

import click

from argosy.pipelines.commands.anywhere import OneRun
from argosy.pipelines.commands.output import print_json
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Run, view
from argosy.pipelines.status import INTERRUPTED, SUCCEEDED, Status
from argosy.pipelines.views import structured
from argosy.pipelines.views.lines import Lines
from argosy.pipelines.views.run import summary
from argosy.pipelines.views.watcher import Watcher
from argosy.pipelines.views.words import is_dumb, paint_for

FAILED, GATE_SAID_NO, INTERRUPTED_CODE = 1, 3, 130


def execute(begin: Callable[[Watcher], Status], run: OneRun, workflow: Json, *, as_json: bool) -> int:
    """Run to the end, show it, and return the exit code. `begin` runs it with an observer."""
    if as_json or not sys.stdout.isatty() or is_dumb():
        lines = Lines(workflow, lambda text: click.echo(text, err=as_json))
        with Watcher(lines.draw) as watcher:
            final = begin(watcher)
    else:
        from argosy.pipelines.views.live import LiveTree

        with (
            LiveTree(workflow, run.newest_lines, paint_for(sys.stdout)) as live,
            Watcher(live.draw, redraw_after_seconds=1) as watcher,
        ):
            final = begin(watcher)
    return conclude(view(workflow, final), run, as_json=as_json)


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
    return GATE_SAID_NO if run.is_verdict else FAILED
