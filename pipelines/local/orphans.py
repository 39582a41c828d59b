"""Processes that outlive their parent: found, so that none outlives its pod.

A process that began a session of its own (torchrun's ranks do) survives its parent's death and is no longer in the
pod's process group. On Linux the runner adopts such processes (prctl(2), PR_SET_CHILD_SUBREAPER) and sees them as its
children. What a killed runner left is found by the mark that every process of a run carries in its environment.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

RUN_MARK = "ARGOSY_RUN"
NODE_MARK = "ARGO_NODE_ID"

_LOOKS = 20
_PR_SET_CHILD_SUBREAPER = 36
_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


def adopt() -> None:
    """Let orphaned descendants become this process's children. Elsewhere than on Linux they stay with init."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_adopted(node_id: str, own: Container[int]) -> None:
    """Kill what a pod's ended process left behind. `own`: the processes that the runner itself started."""
    for pid in _adopted(own):
        is_left = _environment(pid, _LOOKS).get(NODE_MARK) == node_id
        if is_left:
            os.kill(pid, SIGKILL)
        os.waitpid(pid, 0 if is_left else os.WNOHANG)


def kill_run(run_uid: str) -> int:
    """Kill every process of a run whose runner was killed; how many there were."""
    import psutil

    marked = [pid for pid in psutil.pids() if _environment(pid).get(RUN_MARK) == run_uid]
    orphans = [pid for pid in marked if pid != os.getpid()]
    for pid in orphans:
        with suppress(ProcessLookupError):
            _kill(pid)
    return len(orphans)


def _kill(pid: int) -> None:
    """Kill a process that is not our child and wait for its end, though nobody may reap it: a container's first
    process often does not. Raises ProcessLookupError if it has gone.
    """
    if not hasattr(os, "pidfd_open"):  # macOS: its init reaps
        import psutil

        os.kill(pid, SIGKILL)
        psutil.wait_procs([psutil.Process(pid)])
        return
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, SIGKILL)
        select.select([descriptor], [], [])  # readable once it has ended, reaped or not (pidfd_open(2))
    finally:
        os.close(descriptor)


def _adopted(own: Container[int]) -> Iterator[int]:
    try:
        pids = map(int, _CHILDREN.read_text().split())
    except FileNotFoundError:
        return
    yield from (pid for pid in pids if pid not in own)


def _environment(pid: int, looks: int = 1) -> dict[str, str]:
    """A process's environment; for a moment while it executes a program it has none, and nothing tells when it does."""
    import psutil

    try:
        process = psutil.Process(pid)
        for _ in range(looks):
            if found := process.environ():
                return found
            if process.status() == psutil.STATUS_ZOMBIE:
                break
            time.sleep(0.001)
    except (psutil.Error, OSError):
        pass
    return {}
