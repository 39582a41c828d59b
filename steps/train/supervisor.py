"""Runs torchrun, and says how it ended in the words of the one table of exit codes.

torchrun and its ranks are in sessions of their own: the supervisor alone hears signals, and asks the ranks to stop.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.errors import StepError, Terminated
from argosy.steps.train.attempt import Attempt, Outcome


def supervise(inputs: TrainInput, folder: Path) -> Outcome:
    """Trains until the end. Raises StepError; Terminated when a signal stopped it, then with a checkpoint."""
    attempt = Attempt(folder)
    attempt.begin(inputs)
    with (
        attempt.leash() as leash,
        subprocess.Popen(_command(inputs, folder), env=_environment(inputs), start_new_session=True) as torchrun,
    ):
        try:
            torchrun.wait()
        except (Terminated, KeyboardInterrupt):
            attempt.ask_to_stop(leash)
            torchrun.wait()
            outcome = attempt.outcome()
            if outcome is None or not outcome.model_hash:
                raise
    outcome = attempt.outcome()
    if torchrun.returncode or outcome is None:
        raise _failure(attempt, torchrun.returncode)
    return outcome


def _command(inputs: TrainInput, folder: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "argosy.steps.train.launcher", str(folder)),
        *("--standalone", f"--nproc-per-node={inputs.ranks}"),
        "--local-addr=127.0.0.1",  # the pod's own name need not resolve
        *("-m", "argosy.steps.train.worker", str(folder)),
    ]


def _environment(inputs: TrainInput) -> dict[str, str]:
    threads = max(1, _cores() // inputs.ranks)
    return {"OMP_NUM_THREADS": str(threads), **os.environ}


def _cores() -> int:
    """Cores that this pod may use: a CPU limit is a quota, which the count of cores does not show."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup v2, or `max`: no limit
        return cores


def _failure(attempt: Attempt, exit_code: int) -> StepError:
    """The cause. A rank that is killed makes the others raise, so that a kill comes first."""
    exits = attempt.exits()
    if killed := [rank for rank, code in exits.items() if code == -signal.SIGKILL]:
        return StepError(
            ExitCode.TEMPORARY,
            f"rank {killed[0]} was killed (SIGKILL): out of memory, or by hand; see the pod's memory limit",
        )
    if failure := attempt.first_failure():
        sys.stderr.write(failure.trace)
        return StepError(failure.exit_code, failure.message)
    for rank, code in exits.items():
        return _ended(f"rank {rank}", code)
    return _ended("torchrun", exit_code)


def _ended(name: str, exit_code: int) -> StepError:
    if exit_code in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP):
        return StepError(
            ExitCode.TEMPORARY, f"{name} was ended by {signal.Signals(-exit_code).name}; the same again may work"
        )
    how = f"crashed with {signal.Signals(-exit_code).name}" if exit_code < 0 else f"ended with exit code {exit_code}"
    return StepError(ExitCode.CODE, f"{name} {how}, without a Python exception; its last lines are above")
