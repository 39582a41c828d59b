"""A workflow from now to its end, over lost connections and restarts of the server."""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from argosy.pipelines import status as s
from argosy.pipelines.cluster.errors import LostError
from argosy.pipelines.cluster.server import DELETED, ArgoServer
from argosy.pipelines.manifest import Json

GIVEN_UP_AFTER_SECONDS = 300
LONGEST_PAUSE_SECONDS = 10.0

BETWEEN_STREAMS_SECONDS = 1.0
"""A server, or a proxy before it, that ends every stream at once is asked so often and no more."""

Answer = TypeVar("Answer")


def is_over(workflow: Json) -> bool:
    """Whether nothing more will happen; exit handlers have run."""
    return (workflow.get("status") or {}).get("phase") in (s.SUCCEEDED, s.FAILED, s.ERROR)


def follow(server: ArgoServer, name: str, lost: Callable[[], None]) -> Iterator[Json]:
    """The workflow as it is, and after each change, until it is over.

    A connection that is lost is made again for `GIVEN_UP_AFTER_SECONDS`; `lost` is told once each time. Raises
    MissingError, also when it is deleted meanwhile; LostError; ClusterError.
    """
    workflow = server.workflow(name)
    yield workflow
    while not is_over(workflow):
        try:
            for event in server.events(name, workflow["metadata"].get("resourceVersion", "")):
                if event.kind == DELETED:
                    break  # whether it is gone for good, the archive says
                workflow = event.workflow
                yield workflow
                if is_over(workflow):
                    return
        except LostError:
            lost()
        # A stream ends now and then by itself, and may have ended because its resource version is too old.
        time.sleep(BETWEEN_STREAMS_SECONDS)
        workflow = persistent(lambda: server.workflow(name), GIVEN_UP_AFTER_SECONDS)
        yield workflow


def persistent(ask: Callable[[], Answer], seconds: float) -> Answer:
    """What `ask` returns; asked again with growing pauses while there is no answer. Raises the last LostError."""
    until = time.monotonic() + seconds
    pause = 0.5
    while True:
        try:
            return ask()
        except LostError:
            if time.monotonic() + pause > until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
