"""`argosy retry`: go on with a run where it ended."""

from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder


@click.command(cls=arguments.OnCluster, epilog="Example: argosy retry digits-1a2b3c4d")
@arguments.RUN
@arguments.cluster("Go on with a run on a cluster")
@arguments.as_json("the result")
def retry(run: str | None, cluster: str | None, as_json: bool) -> int:
    """Go on with a run that was interrupted or failed.

    What has succeeded is not run again. Without RUN it is the newest here that has not succeeded and is not running; on
    a cluster it must be named, Ctrl-C leaves it running, and `argosy watch` follows it again.

    Exit code: as of `argosy run`.
    """
    return _here(run, as_json=as_json) if cluster is None else _on_cluster(cluster, run, as_json=as_json)


def _here(name: str | None, *, as_json: bool) -> int:
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.anywhere import LocalRun
    from argosy.pipelines.commands.execution import execute
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.local.runner import LocalRuns
    from argosy.pipelines.status import HELD, SUCCEEDED

    def fits(one: "RunFolder") -> bool:
        found = place.opened(one)
        return not found.is_active and found.phase not in (SUCCEEDED, HELD) and not _made_again(one)

    candidates = place.home().runs()
    active = next((one for one in candidates if one.runner() is not None), None)
    if name is None and active and not any(map(fits, candidates)):
        raise place.running(active)
    folder = place.chosen(name, fits, "to retry")
    if place.opened(folder).phase == HELD:
        raise Mistake(f"run {folder.name} waits for a person; `{place.program('argosy')} resume {folder.name}` goes on")
    if model := _made_again(folder):
        raise Mistake(f"run {folder.name} was to make {model} again; `argosy reproduce {model}` does so anew")
    click.echo(f"retrying {folder.name}", err=as_json)
    runs, here = LocalRuns(place.project()), LocalRun(folder)
    return execute(lambda observer: runs.resume(folder, observer), here, here.workflow(), as_json=as_json)


def _made_again(folder: "RunFolder") -> str:
    """The model that the run was to make again, whose commit's files are no longer there; empty: it is no such run."""
    from argosy.pipelines.comparison.again import MAKES_AGAIN

    return str((folder.workflow()["metadata"].get("annotations") or {}).get(MAKES_AGAIN) or "")


def _on_cluster(cluster: str, name: str | None, *, as_json: bool) -> int:
    from argosy.pipelines.cluster import control
    from argosy.pipelines.cluster.following import persistent
    from argosy.pipelines.commands import anywhere
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.commands.watch import watched
    from argosy.pipelines.status import SUCCEEDED

    found = anywhere.ClusterRun.named(anywhere.server(cluster), name)
    if found.view().phase == SUCCEEDED:
        raise Mistake(f"run {found.name} has succeeded: there is nothing to retry")
    control.retry(found.server, found.name)
    click.echo(f"retrying {found.name}", err=as_json)
    persistent(found.refresh, control.ASKED_FOR_SECONDS)
    return watched(found, as_json=as_json)
