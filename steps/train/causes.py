"""Which of all that went wrong in an attempt went wrong first."""

import re
import signal
import time
from collections.abc import Iterator, Sequence

from argosy.steps.contracts import ExitCode
from argosy.steps.train.failures import NO_CAUSE, NO_RANK, Failure

ENDED_BY_HAND = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
KILLED_HELPER = re.compile(r"killed by (signal: Killed|SIGKILL)|exited unexpectedly|terminated abruptly")
"""Words of torch's loader, argosy's and Python's pools for a process of theirs that is gone."""


def first(
    failures: Sequence[Failure],
    exits: dict[int, int],
    torchrun: int,
    *,
    ended: Sequence[int],
    out_of_memory: str | None,
    gpus: bool,
) -> Failure:
    """The cause. `exits` are those of the ranks that torchrun saw fail first; negative for a signal. `ended` are ranks
    that did not fail.

    `out_of_memory` says what the limit is, where the kernel killed a process of this pod for it.
    """
    return next(_candidates(failures, exits, torchrun, ended, out_of_memory, gpus=gpus))


def _candidates(
    failures: Sequence[Failure],
    exits: dict[int, int],
    torchrun: int,
    ended: Sequence[int],
    out_of_memory: str | None,
    *,
    gpus: bool,
) -> Iterator[Failure]:
    """All that may be the cause, the likeliest first."""
    silent = {rank: code for rank, code in exits.items() if rank not in {failure.rank for failure in failures}}
    own = [failure for failure in failures if not failure.of_peers]
    # NCCL's watchdog aborts a rank whose peers are gone: as weak a sign as a failed collective.
    aborted = {rank: code for rank, code in silent.items() if code == -signal.SIGABRT and gpus}
    # A rank that is killed or crashes makes others raise; one that raises has the others ended by SIGTERM.
    for rank, code in silent.items():
        if code < 0 and code not in ENDED_BY_HAND and rank not in aborted:
            yield _of_signal(f"rank {rank}", rank, -code, out_of_memory)
    for failure in own:
        yield _of_helper(failure, out_of_memory)
    for rank, code in silent.items():
        if rank not in aborted:
            yield _of_exit(f"rank {rank}", rank, code)
    for rank in ended if failures or aborted else ():
        words = "ended before the others, which waited for it; let all ranks make the same calls and as many steps"
        yield _failure(f"rank {rank}", rank, ExitCode.CODE, words)
    yield from failures
    for rank in aborted:
        words = "was aborted (SIGABRT), as NCCL does when a peer is gone; its last lines are above"
        yield _failure(f"rank {rank}", rank, ExitCode.TEMPORARY, words).model_copy(update={"of_peers": True})
    if torchrun < 0 and torchrun not in ENDED_BY_HAND:
        yield _of_signal("torchrun", NO_RANK, -torchrun, out_of_memory)
    yield _of_exit("torchrun", NO_RANK, torchrun)


def _of_signal(name: str, rank: int, number: int, out_of_memory: str | None) -> Failure:
    if number == signal.SIGKILL and out_of_memory is not None:
        words = f"was killed: out of memory{out_of_memory}; give the pod more"
        return _failure(name, rank, ExitCode.OUT_OF_MEMORY, words)
    if number == signal.SIGKILL:
        words = "was killed (SIGKILL), by the machine or by hand"
        return _failure(name, rank, ExitCode.TEMPORARY, words).model_copy(update={"cause": NO_CAUSE})
    words = f"crashed with {signal.Signals(number).name}, without a Python exception; its last lines are above"
    return _failure(name, rank, ExitCode.CODE, words)


def _of_exit(name: str, rank: int, code: int) -> Failure:
    if code in ENDED_BY_HAND:
        words = f"was ended by {signal.Signals(-code).name}; the same again may work"
        return _failure(name, rank, ExitCode.TEMPORARY, words).model_copy(update={"cause": NO_CAUSE})
    words = f"ended with exit code {code}, without a Python exception; its last lines are above"
    return _failure(name, rank, ExitCode.CODE, words)


def _of_helper(failure: Failure, out_of_memory: str | None) -> Failure:
    """A rank's own failure, unless it says that a process of its own is gone and the kernel says why."""
    if out_of_memory is None or not KILLED_HELPER.search(failure.message):
        return failure
    words = f"a process of it was killed: out of memory{out_of_memory}; give the pod more, or take fewer loader workers"
    return _failure(f"rank {failure.rank}", failure.rank, ExitCode.OUT_OF_MEMORY, words)


def _failure(name: str, rank: int, exit_code: ExitCode, words: str) -> Failure:
    return Failure(rank=rank, at=time.time(), exit_code=exit_code, message=f"{name} {words}", cause=words)
