"""`argosy show`: one run, explained."""

import sys

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.output import print_json


@click.command(epilog="Example: argosy show digits-1a2b3c4d")
@arguments.RUN
@arguments.as_json("the whole Argo Workflow object")
def show(run: str | None, as_json: bool) -> None:
    """Explain a run.

    Its steps and their numbers, its parameters, what was registered, what failed and why, where the logs are, and what
    to do next. Without RUN it is the newest.
    """
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.execution import commands
    from argosy.pipelines.commands.logfiles import LogFiles
    from argosy.pipelines.views.run import explanation
    from argosy.pipelines.views.words import paint_for

    folder = place.chosen(run)
    if as_json:
        print_json(folder.workflow())
        return
    found = place.opened(folder)
    next_commands = commands(found, folder)
    paint = paint_for(sys.stdout)
    click.echo(explanation(found, LogFiles(folder), paint, next_commands, place.shown(folder.path)))
