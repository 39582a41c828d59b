"""`argosy resume`: let a run go on that waits for a person."""

import click

from argosy.pipelines.commands import arguments


@click.command(cls=arguments.OnCluster, epilog="Example: argosy resume digits-1a2b3c4d --step approval")
@arguments.RUN
@click.option("--step", metavar="STEP", help="The step to let go on; without it all that wait.")
@arguments.cluster("Let a run on a cluster go on")
@arguments.as_json("the result")
def resume(run: str | None, step: str | None, cluster: str | None, as_json: bool) -> int:
    """Let a run go on that waits for a person.

    It waits where a gate could not decide and its policy is to hold, and before it publishes where the registry asks
    for approval. `argosy show` tells what the gates found, and `argosy stop` is the no. Without RUN it is the newest
    here that waits; on a cluster it must be named, and Ctrl-C leaves it running.

    Exit code: as of `argosy run`.
    """
    return _here(run, step, as_json=as_json) if cluster is None else _on_cluster(cluster, run, step, as_json=as_json)


def _here(name: str | None, step: str | None, *, as_json: bool) -> int:
    from argosy.pipelines import held
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.anywhere import LocalRun
    from argosy.pipelines.commands.execution import execute
    from argosy.pipelines.local.runner import LocalRuns
    from argosy.pipelines.runs import status_of
    from argosy.pipelines.status import HELD

    folder = place.chosen(name, lambda one: place.opened(one).phase == HELD, "that waits for a person")
    if folder.runner() is not None:
        raise place.running(folder)
    held.chosen(folder.workflow(), status_of(folder.workflow()), step)
    click.echo(f"resuming {folder.name}", err=as_json)
    runs, here = LocalRuns(place.project()), LocalRun(folder)
    return execute(lambda observer: runs.release(folder, step, observer), here, here.workflow(), as_json=as_json)


def _on_cluster(cluster: str, name: str | None, step: str | None, *, as_json: bool) -> int:
    from argosy.pipelines import held
    from argosy.pipelines.cluster import control
    from argosy.pipelines.cluster.following import persistent
    from argosy.pipelines.commands import anywhere
    from argosy.pipelines.commands.watch import watched
    from argosy.pipelines.runs import status_of

    found = anywhere.ClusterRun.named(anywhere.server(cluster), name)
    for node in held.chosen(found.workflow(), status_of(found.workflow()), step):
        control.resume(found.server, found.name, node.id)
        click.echo(f"resuming {found.name}: {node.display_name}", err=as_json)
    persistent(found.refresh, control.ASKED_FOR_SECONDS)
    return watched(found, as_json=as_json)
