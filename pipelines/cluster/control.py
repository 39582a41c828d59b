"""Ends a workflow, or lets it go on, whatever becomes of the answers."""

from argosy.pipelines.cluster.errors import ClusterError, LostError
from argosy.pipelines.cluster.following import is_over, persistent
from argosy.pipelines.cluster.server import ArgoServer
from argosy.pipelines.runs import status_of

ASKED_FOR_SECONDS = 60


def stop(server: ArgoServer, name: str) -> None:
    """Ask for the end; nothing happens to a workflow that is over. Raises ClusterError."""

    def ask() -> None:
        try:
            server.stop(name)
        except LostError:  # also Argo's answer for one that is over (workflow/util/util.go: AlreadyShutdownError)
            if not is_over(server.workflow(name)):
                raise

    persistent(ask, ASKED_FOR_SECONDS)


def resume(server: ArgoServer, name: str, node: str) -> None:
    """End the pause of a node with this identifier well. Raises ClusterError."""

    def ask() -> None:
        try:
            server.resume(name, node)
        except ClusterError:
            status = status_of(server.workflow(name))
            if not status.nodes[node].is_fulfilled:
                raise  # else it goes on: it is an earlier attempt, or another person, that was heard

    persistent(ask, ASKED_FOR_SECONDS)


def retry(server: ArgoServer, name: str) -> None:
    """Let a workflow that failed go on. Raises ClusterError with Argo's words for one that cannot."""
    has_lost = False

    def ask() -> None:
        nonlocal has_lost
        try:
            server.retry(name)
        except LostError:
            has_lost = True
            raise
        except ClusterError:
            if not has_lost or is_over(server.workflow(name)):
                raise  # else it goes on: it is an earlier attempt that was heard

    persistent(ask, ASKED_FOR_SECONDS)
