"""Times whole processes, in rounds: every command once, then every command once more."""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIMIT_SECONDS = 300
NOWHERE = "http://127.0.0.1:9"
"""A proxy that does not answer: a program that phones home fails at once."""


class BenchmarkError(Exception):
    """A command that did not do what is measured, so that its time means nothing."""


@dataclass(frozen=True)
class Case:
    """A command to time. It runs in an empty folder, which is also its user's home, unless `cwd` names another."""

    name: str
    argv: Sequence[str]
    cwd: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None
    """A folder of programs that come first."""
    prepare: Callable[[Path], None] = lambda _folder: None
    """What is done with the folder that it runs in beforehand, and not timed."""
    steps: int = 0
    """How many steps `count` must find."""
    count: Callable[[Path, str], int] = lambda _folder, _output: 0
    """Steps that succeeded, from what the command left in the folder that it ran in, and what it printed."""


@dataclass(frozen=True)
class Figure:
    """Seconds over some rounds."""

    minimum: float
    median: float
    rounds: int
    memory: int = 0
    """Most bytes that the process has held in memory."""

    @classmethod
    def of(cls, seconds: Sequence[float], memory: int = 0) -> "Figure":
        return cls(min(seconds), statistics.median(seconds), len(seconds), memory)


def interleaved(cases: Sequence[Case], rounds: int) -> dict[str, Figure]:
    """Case name -> its figure. A machine that changes its speed changes it for all cases alike.

    Raises BenchmarkError for the first command that fails.
    """
    seconds: dict[str, list[float]] = {case.name: [] for case in cases}
    memory = dict.fromkeys(seconds, 0)
    for number in range(1, rounds + 1):
        for case in cases:
            taken, held = _once(case)
            seconds[case.name].append(taken)
            memory[case.name] = max(memory[case.name], held)
            print(f"  round {number}/{rounds}  {case.name}: {taken:.3f} s", flush=True)
    return {name: Figure.of(taken, memory[name]) for name, taken in seconds.items()}


def _once(case: Case) -> tuple[float, int]:
    """Seconds, and the most bytes in memory."""
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as name, tempfile.TemporaryFile() as output:
        folder = Path(name)
        search = os.pathsep.join(map(str, filter(None, (case.path, os.environ.get("PATH")))))
        environment = {**os.environ, **_private(folder), "PATH": search, **case.environment}
        runs_in = case.cwd or folder
        case.prepare(runs_in)
        start = time.perf_counter()
        process = subprocess.Popen(
            case.argv,
            cwd=runs_in,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        # wait() with a time limit looks every 50 ms only; SIGTERM lets argosy stop its pods as well.
        watchdog = threading.Timer(LIMIT_SECONDS, process.terminate)
        watchdog.start()
        _, status, usage = os.wait4(process.pid, 0)
        taken = time.perf_counter() - start
        watchdog.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        _verify(case, process.returncode, runs_in, output.read().decode(errors="replace"))
        return taken, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _verify(case: Case, code: int, folder: Path, output: str) -> None:
    done = case.count(folder, output) if code == 0 else 0
    if code != 0 or done != case.steps:
        what = f"{case.name}: exit code {code}, {done} of {case.steps} steps succeeded"
        raise BenchmarkError(f"{what}\n{' '.join(case.argv)}\n{output[-2000:]}")


def _private(folder: Path) -> dict[str, str]:
    """Keeps a program out of the user's home, and off the network."""
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_CACHE_HOME": str(folder / ".cache"),
        "DVC_NO_ANALYTICS": "1",
        "METAFLOW_HOME": str(folder / ".metaflowconfig"),
        "METAFLOW_USER": "bench",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE),
    }
