"""`argosy show`: one run, explained."""

import sys

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.output import print_json


@click.command(cls=arguments.OnCluster, epilog="Example: argosy show digits-1a2b3c4d")
@arguments.RUN
@arguments.cluster("Show a run on a cluster")
@arguments.as_json("the whole Argo Workflow object")
def show(run: str | None, cluster: str | None, as_json: bool) -> None:
    """Explain a run.

    Its steps and their numbers, its parameters, what was registered, what failed and why, where the logs are, and what
    to do next. Without RUN it is the newest.
    """
    from argosy.pipelines.commands import anywhere
    from argosy.pipelines.views.run import explanation
    from argosy.pipelines.views.words import paint_for

    found = anywhere.find(cluster, run)
    if as_json:
        print_json(found.workflow())
        return
    told = found.view()
    click.echo(explanation(told, found.logs, paint_for(sys.stdout), found.commands(told), found.where))
