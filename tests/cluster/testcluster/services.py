"""The cluster's long-running processes."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import requests

from testcluster.machine import Machine
from testcluster.paths import STATE

INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
"""Nothing else: a shell may name another cluster, and `argo server` with ARGO_SERVER would be that one's client."""

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_TO_START = 120


@dataclass
class Service:
    """A process of the machine. Its output goes to `log`."""

    machine: Machine
    name: str
    words: Sequence[str | Path]
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def log(self) -> Path:
        return STATE / "logs" / f"{self.name}.log"

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.machine.inside(*self.words),
                env={name: os.environ[name] for name in INHERITED if name in os.environ} | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.machine.services.append(self.process)
        wait_until(self._is_serving, f"{self.name} to serve; see {self.log}")

    def kill(self) -> None:
        """End it without a warning, as a lost node does."""
        assert self.process
        # Not nsenter, which collects the command: a process that nobody collects keeps its namespace from ending.
        for one in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self.process.wait()

    def _is_serving(self) -> bool:
        assert self.process
        if self.process.poll() is not None:
            tail = self.log.read_text(errors="replace").splitlines()[-15:]
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n" + "\n".join(tail))
        return self.is_ready()


def answers(url: str, *, ca: Path | None = None, token: str = "") -> Callable[[], bool]:
    """Whether a server answers at this address without an error of its own."""

    def is_ready() -> bool:
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return requests.get(url, headers=headers, verify=str(ca) if ca else True, timeout=5).status_code < 500
        except (requests.RequestException, OSError):
            return False

    return is_ready


def wait_until(condition: Callable[[], bool], what: str, seconds: float = SECONDS_TO_START) -> None:
    """Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(SECONDS_BETWEEN_LOOKS)
