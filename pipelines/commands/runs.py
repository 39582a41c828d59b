"""`argosy runs`: what has run in this project."""

import sys
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.output import print_json

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder
    from argosy.pipelines.runs import Run


@click.command(epilog="Example: argosy runs -n 5")
@click.option("-n", "--number", type=click.IntRange(min=1), default=20, show_default=True, help="So many runs at most.")
@arguments.as_json("the runs")
def runs(number: int, as_json: bool) -> None:
    """List the project's runs, newest first."""
    from argosy.pipelines.commands import place
    from argosy.pipelines.views import structured
    from argosy.pipelines.views.table import table
    from argosy.pipelines.views.words import paint_for

    folders = place.home().runs()
    listed = [_listed(folder) for folder in folders[:number]]
    if as_json:
        print_json([structured.brief(run) for run in listed])
    elif not listed:
        click.echo(f"no runs in {place.project()} yet; `{place.program('argosy')} run PIPELINE` makes one")
    else:
        click.echo(table(listed, paint_for(sys.stdout)))
        if len(folders) > number:
            click.echo(f"{len(folders) - number} older; -n {len(folders)} shows all")


def _listed(folder: "RunFolder") -> "Run":
    """A run as it is now; one that cannot be read hides no other."""
    from argosy.pipelines.commands import place
    from argosy.pipelines.local.store import DamagedError
    from argosy.pipelines.runs import damaged

    try:
        return place.opened(folder)
    except DamagedError as error:
        return damaged(folder.name, str(error))
