"""A run from its start, or from where it was resumed, to its end, shown as it goes on."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import place
from argosy.pipelines.commands.logfiles import LogFiles
from argosy.pipelines.commands.output import print_json
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Run, view
from argosy.pipelines.status import INTERRUPTED, SUCCEEDED, Status
from argosy.pipelines.views import structured
from argosy.pipelines.views.lines import Lines
from argosy.pipelines.views.run import summary
from argosy.pipelines.views.watcher import Watcher
from argosy.pipelines.views.words import is_dumb, paint_for

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder

FAILED, GATE_SAID_NO, INTERRUPTED_CODE = 1, 3, 130


def execute(begin: Callable[[Watcher], Status], folder: "RunFolder", workflow: Json, *, as_json: bool) -> int:
    """Run to the end, show it, and return the exit code. `begin` runs it with an observer."""
    logs = LogFiles(folder)
    if as_json or not sys.stdout.isatty() or is_dumb():
        lines = Lines(workflow, lambda text: click.echo(text, err=as_json))
        with Watcher(lines.draw) as watcher:
            final = begin(watcher)
    else:
        from argosy.pipelines.views.live import LiveTree

        with (
            LiveTree(workflow, logs, paint_for(sys.stdout)) as live,
            Watcher(live.draw, redraw_after_seconds=1) as watcher,
        ):
            final = begin(watcher)
    return conclude(view(workflow, final), folder, as_json=as_json)


def conclude(run: Run, folder: "RunFolder", *, as_json: bool) -> int:
    """Tell how a run ended; returns the exit code."""
    if as_json:
        print_json(structured.whole(run) | {"folder": str(folder.path)})
    else:
        paint = paint_for(sys.stdout)
        click.echo("\n" + summary(run, LogFiles(folder), paint, commands(run, folder)))
    return exit_code(run)


def exit_code(run: Run) -> int:
    if run.phase == SUCCEEDED:
        return 0
    if run.phase == INTERRUPTED:
        return INTERRUPTED_CODE
    return GATE_SAID_NO if run.is_verdict else FAILED


def commands(run: Run, folder: "RunFolder") -> list[str]:
    """What the user may want to type next."""
    from argosy.pipelines.commands.registry import browse

    argosy = place.program("argosy")
    show = f"{argosy} show {run.name}"
    failed = run.failures()
    if run.phase == SUCCEEDED:
        return [show, *browse(run, folder)]
    if run.is_active:
        return [f"{argosy} logs {run.name} --follow", f"{argosy} stop {run.name}"]
    logs = [f"{argosy} logs {run.name} {failed[0].name}"] if failed and run.phase != INTERRUPTED else []
    resume = [] if run.is_verdict else [f"{argosy} resume {run.name}"]
    return [*resume, show] if run.phase == INTERRUPTED else [*logs, *resume, show]
