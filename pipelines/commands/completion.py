"""What the shell offers when the user presses the tab key."""

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from argosy.pipelines.commands import place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from argosy.pipelines.cluster.server import ArgoServer


def pipelines(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The project's pipelines; files once the word can be no name of one."""
    from argosy.pipelines.commands.source import available

    return _items(available(), begun) or [CompletionItem(begun, type="file")]


def clusters(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The clusters, or else what may stand after the option alone: a run there, or a pipeline."""
    from argosy.pipelines.cluster.errors import ClusterError
    from argosy.pipelines.cluster.profiles import profiles

    try:
        found = _items(profiles(place.project()), begun)
    except ClusterError:
        return []
    follows = pipelines if "pipeline" in (one.name for one in ctx.command.params) else cluster_runs
    return found or follows(ctx, param, begun)


def runs(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The runs here, or those on the cluster that was named."""
    if ctx.params.get("cluster") is not None:
        return cluster_runs(ctx, param, begun)
    return _items((run.name for run in place.home().runs()), begun)


def cluster_runs(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The runs on the cluster, if it answers at once."""
    from argosy.pipelines.cluster.errors import ClusterError

    try:
        return _items(_server(ctx.params.get("cluster")).names(), begun)
    except ClusterError:
        return []


def steps(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The steps of the run that was named."""
    from argosy.pipelines.cluster.errors import ClusterError
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.local.store import DamagedError
    from argosy.pipelines.runs import view

    cluster, name = ctx.params.get("cluster"), ctx.params.get("run")
    try:
        run = place.opened(place.chosen(name)) if cluster is None else view(_server(cluster).workflow(str(name)))
    except (Mistake, DamagedError, ClusterError):
        return []
    return _items(run.names(), begun)


def _server(cluster: str | None) -> "ArgoServer":
    from argosy.pipelines.cluster.connection import connection
    from argosy.pipelines.cluster.server import ArgoServer
    from argosy.pipelines.cluster.session import HASTY

    return ArgoServer(connection(cluster or None, place.project()), HASTY)


def _items(words: "Iterable[str]", begun: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(begun)]
