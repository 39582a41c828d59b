"""`argosy runs`: what has run in this project, or on a cluster."""

import sys
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.output import print_json

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder
    from argosy.pipelines.runs import Run


@click.command(cls=arguments.OnCluster, epilog="Example: argosy runs -n 5")
@click.option("-n", "--number", type=click.IntRange(min=1), default=20, show_default=True, help="So many runs at most.")
@arguments.cluster("List the runs on a cluster")
@click.option("--all", "everyones", is_flag=True, help="On a cluster, workflows that are not argosy's as well.")
@arguments.as_json("the runs")
def runs(number: int, cluster: str | None, everyones: bool, as_json: bool) -> None:
    """List the project's runs, newest first."""
    from argosy.pipelines.views import structured
    from argosy.pipelines.views.table import table
    from argosy.pipelines.views.words import paint_for

    listed, older, nothing = _here(number) if cluster is None else _on_cluster(cluster, number, everyones=everyones)
    if as_json:
        print_json([structured.brief(run) for run in listed])
    elif not listed:
        click.echo(nothing)
    else:
        click.echo(table(listed, paint_for(sys.stdout)))
        if older:
            click.echo(f"{older} older; -n {len(listed) + older} shows all")


def _here(number: int) -> tuple[list["Run"], int, str]:
    """The newest runs, how many older ones there are, and what to say where there is none."""
    from argosy.pipelines.commands import place

    folders = place.home().runs()
    nothing = f"no runs in {place.project()} yet; `{place.program('argosy')} run PIPELINE` makes one"
    return [_listed(folder) for folder in folders[:number]], len(folders[number:]), nothing


def _on_cluster(cluster: str, number: int, *, everyones: bool) -> tuple[list["Run"], int, str]:
    """The same, on a cluster. Raises ClusterError."""
    from argosy.pipelines.cluster.errors import MissingError, UnreadableError
    from argosy.pipelines.commands import anywhere, place
    from argosy.pipelines.runs import damaged, view

    server = anywhere.server(cluster)
    names = server.names(everyones=everyones)
    nothing = f"no runs at {server.connection} yet; `{place.program('argosy')} submit PIPELINE` makes one"
    listed: list[Run] = []
    for name in names[:number]:
        try:
            listed.append(view(server.workflow(name)))
        except MissingError:
            continue  # deleted since it was listed
        except UnreadableError as error:
            listed.append(damaged(name, str(error)))
    return listed, len(names[number:]), nothing


def _listed(folder: "RunFolder") -> "Run":
    """A run as it is now; one that cannot be read hides no other."""
    from argosy.pipelines.commands import place
    from argosy.pipelines.local.store import DamagedError
    from argosy.pipelines.runs import damaged

    try:
        return place.opened(folder)
    except DamagedError as error:
        return damaged(folder.name, str(error))
