"""`argosy logs`: what the pods of a run printed."""

from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from argosy.pipelines.commands.cluster_printing import ClusterPrinter
    from argosy.pipelines.commands.local_printing import LocalPrinter


@click.command(cls=arguments.OnCluster, epilog="Example: argosy logs digits-1a2b3c4d train --follow")
@arguments.RUN
@arguments.STEP
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended.")
@arguments.cluster("Logs of a run on a cluster")
def logs(run: str | None, step: str | None, follow: bool, cluster: str | None) -> None:
    """Print what the steps of a run printed.

    Of several steps, each line begins with the name of its step. STEP is a step's name or the identifier of its node; a
    DAG or a loop stands for all that is in it. Without RUN it is the newest run; a single word that names no run is a
    step of the newest.
    """
    printer = _here(run, step) if cluster is None else _on_cluster(cluster, run, step)
    if follow:
        printer.follow()
    else:
        printer.print_all()


def _here(run: str | None, step: str | None) -> "LocalPrinter":
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.local_printing import LocalPrinter

    if run and not step and all(run != one.name for one in place.home().runs()):
        run, step = None, run
    return LocalPrinter(place.chosen(run), step)


def _on_cluster(cluster: str, run: str | None, step: str | None) -> "ClusterPrinter":
    from argosy.pipelines.cluster.errors import MissingError
    from argosy.pipelines.commands import anywhere
    from argosy.pipelines.commands.cluster_printing import ClusterPrinter

    server = anywhere.server(cluster)
    if run and not step:
        try:
            server.workflow(run)
        except MissingError:
            run, step = None, run
    return ClusterPrinter(anywhere.ClusterRun.find(server, run), step)
