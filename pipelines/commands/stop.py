"""`argosy stop`: end a run, its pods first."""

import click

from argosy.pipelines.commands import arguments


@click.command(cls=arguments.OnCluster, epilog="Example: argosy stop digits-1a2b3c4d")
@arguments.RUN
@arguments.cluster("Stop a run on a cluster")
@arguments.as_json("the result")
def stop(run: str | None, cluster: str | None, as_json: bool) -> None:
    """Stop a run and its pods.

    Waits until the pods have ended and the run's exit handler has run. To a run that waits for a person it is the no.
    Without RUN it is the newest here that is not
    over; on a cluster it must be named.
    """
    if cluster is None:
        _here(run, as_json=as_json)
    else:
        _on_cluster(cluster, run, as_json=as_json)


def _here(name: str | None, *, as_json: bool) -> None:
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.anywhere import LocalRun
    from argosy.pipelines.commands.execution import conclude
    from argosy.pipelines.local.runner import LocalRuns
    from argosy.pipelines.status import PENDING, RUNNING

    folder = place.chosen(name, lambda one: one.workflow()["status"]["phase"] in (PENDING, RUNNING), "to stop")
    click.echo(f"stopping {folder.name}", err=as_json)
    LocalRuns(place.project()).stop(folder)
    conclude(place.opened(folder), LocalRun(folder), as_json=as_json)


def _on_cluster(cluster: str, name: str | None, *, as_json: bool) -> None:
    from argosy.pipelines.cluster import control
    from argosy.pipelines.cluster.following import follow, is_over
    from argosy.pipelines.commands import anywhere
    from argosy.pipelines.commands.execution import conclude
    from argosy.pipelines.runs import view

    found = anywhere.ClusterRun.named(anywhere.server(cluster), name)
    workflow = found.workflow()
    if is_over(workflow):
        click.echo(f"run {found.name} is over already", err=as_json)
    else:
        control.stop(found.server, found.name)
        click.echo(f"stopping {found.name}; its pods end first", err=as_json)
        for workflow in follow(found.server, found.name, lambda: click.echo(anywhere.LOST, err=True)):  # noqa: B007 - the last is meant
            pass
    conclude(view(workflow), found, as_json=as_json)
