"""What a pod is to the engine, and who runs one.

The engine knows nothing of processes: it hands a Pod to a PodRunner and gets a PodResult back.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from argosy.pipelines.manifest import Container

LOG = "main.log"
"""What a pod printed: standard output and error, in its folder."""


@dataclass(frozen=True)
class Pod:
    """One pod to run."""

    name: str
    node_id: str
    folder: Path
    """What belongs to this pod alone: its log, its private files."""
    main: Container
    init: tuple[Container, ...] = ()
    volumes: dict[str, Path] = field(default_factory=dict)
    """Volume name -> the folder that stands for it."""
    private_paths: tuple[str, ...] = ()
    """Absolute paths inside the pod that are its own: where artifacts and output parameters lie."""
    captures_result: bool = False
    grace_seconds: float = 30.0
    """Between SIGTERM and SIGKILL (Kubernetes: terminationGracePeriodSeconds)."""


@dataclass(frozen=True)
class PodResult:
    """How a pod ended. `exit_code` is the main container's; None when it never started."""

    exit_code: int | None
    message: str = ""
    """Empty for success, else what Argo would say of the pod: `main: Error (exit code 1): ...`."""
    result: str | None = None
    """The main container's standard output, when the pod captures it."""


class PodRunner(Protocol):
    """Runs pods. The local runner has one that starts processes; a test may have one that follows a script."""

    async def run(self, pod: Pod, stop: asyncio.Event) -> PodResult:
        """Run the pod to its end. When `stop` is set it gets SIGTERM, its grace, then SIGKILL.

        When this coroutine is cancelled, no process of the pod is left.
        """

    def path(self, pod: Pod, inside: str) -> Path:
        """Where an absolute path inside the pod lies on this machine."""
