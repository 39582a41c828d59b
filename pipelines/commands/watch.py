"""`argosy watch`: a run on a cluster, as it goes on."""

from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from argosy.pipelines.commands.anywhere import ClusterRun
    from argosy.pipelines.status import Status
    from argosy.pipelines.views.watcher import Watcher


@click.command(cls=arguments.OnCluster, epilog="Example: argosy watch digits-1a2b3c4d")
@arguments.CLUSTER_RUN
@arguments.cluster("The cluster")
@arguments.as_json("the result")
def watch(run: str | None, cluster: str | None, as_json: bool) -> int:
    """Follow a run on a cluster to its end.

    Shows what `argosy run` shows. A connection that is lost is made again, for five minutes at most. Ctrl-C leaves the
    run alone. Without RUN it is the newest of argosy's.

    Exit code: as of `argosy run`; 130 when it was left alone.
    """
    from argosy.pipelines.commands import anywhere

    found = anywhere.ClusterRun.find(anywhere.server(cluster), run)
    return watched(found, as_json=as_json)


def watched(run: "ClusterRun", *, as_json: bool) -> int:
    """Follow a run to its end; returns the exit code."""
    from argosy.pipelines.commands.execution import INTERRUPTED_CODE, conclude
    from argosy.pipelines.runs import view

    final = followed(run, is_aside=as_json)
    return INTERRUPTED_CODE if final is None else conclude(view(run.workflow(), final), run, as_json=as_json)


def followed(run: "ClusterRun", *, is_aside: bool) -> "Status | None":
    """Show how a run goes on, to its end; None: Ctrl-C left it alone."""
    from argosy.pipelines.commands.execution import shown

    try:
        return shown(lambda observer: _followed(run, observer), run, run.workflow(), is_aside=is_aside)
    except KeyboardInterrupt:
        stop = run.commands(run.view())[-1]
        click.echo(f"run {run.name} goes on; `{stop}` stops it", err=True)
        return None


def _followed(run: "ClusterRun", observer: "Watcher") -> "Status":
    """Tell of every change; returns the last."""
    import msgspec

    from argosy.pipelines.cluster.following import follow
    from argosy.pipelines.commands.anywhere import LOST
    from argosy.pipelines.runs import status_of

    status = status_of(run.workflow())

    def lost() -> None:
        observer(msgspec.structs.replace(status, message=LOST))

    for workflow in follow(run.server, run.name, lost):
        status = status_of(workflow)
        observer(status)
    return status
