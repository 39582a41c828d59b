"""Why a rank failed, in the words that a person reads first."""

import re
import time
import traceback
from collections.abc import Iterator

from argosy.steps import pod
from argosy.steps.base import Contract
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError

NO_RANK = -1
LONGEST = 2000
LOST_PEERS = re.compile(
    r"connection (closed|reset|refused)|broken pipe|timed? ?out|timeout|connectFullMesh|monitoredBarrier"
    r"|remote process exited|failed to recv|NCCL|Socket|no longer available",
    re.IGNORECASE,
)
COLLECTIVE = re.compile(r"gloo|NCCL|c10d|ProcessGroup|TCPStore|monitoredBarrier|process group", re.IGNORECASE)
FAULTS = set(ExitCode) - {ExitCode.OK, ExitCode.GATE_FAILED, ExitCode.GATE_INCONCLUSIVE}
DISTRIBUTED_ERRORS = ("DistError", "DistBackendError", "DistNetworkError", "DistStoreError")
GPU_MEMORY = (
    "; that is the GPU's memory, and more of the pod's does not help: take a smaller batch, more accumulation, "
    "or a lower precision"
)


NO_CAUSE = ""


class Failure(Contract):
    """Why a rank failed, or the whole of a node."""

    rank: int
    """-1: no rank, but what starts them."""
    at: float
    """Seconds since the epoch: the first failure is the cause, others follow from it."""
    exit_code: ExitCode
    message: str
    cause: str
    """The message without what differs from one attempt to the next: equal causes are the same failure again. Empty:
    it came from outside, and says nothing about the training.
    """
    of_peers: bool = False
    """Whether it says no more than that others failed."""
    step: int | None = None
    """Steps that the rank had done; None: none in this attempt."""
    told: bool = False
    """Whether argosy chose the message, which then needs no traceback."""
    trace: str = ""


def failure_of(rank: int, error: BaseException, *, step: int | None) -> Failure:
    """What an exception that ended a rank says."""
    if isinstance(error, StepError):
        return Failure(
            rank=rank,
            at=time.time(),
            exit_code=error.exit_code,
            message=error.message,
            cause=error.message,
            step=step,
            told=True,
        )
    of_peers = is_of_peers(error)
    exit_code, text = _exit_code(error), _short(_described(error))
    if of_peers:
        text = f"lost the others: {text}"
    elif found := pod.of_files(error):
        exit_code, text = found
    elif _is_of_gpu_memory(error):
        text += GPU_MEMORY
    return Failure(
        rank=rank,
        at=time.time(),
        exit_code=ExitCode.TEMPORARY if of_peers else exit_code,
        message=f"rank {rank}{' ' if of_peers else ': '}{text}",
        cause="lost the others" if of_peers else text,
        of_peers=of_peers,
        step=step,
        trace="".join(traceback.format_exception(error)),
    )


def _described(error: BaseException) -> str:
    """In one line, since the step and the checkpoint come behind it."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    return " ".join(line.strip() for line in pod.described(error).splitlines())


def _short(text: str) -> str:
    """The step and the checkpoint that come behind it must be within a last word's bytes."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 3 // 4]} ... {text[-LONGEST // 4 :]}"


def is_of_peers(error: BaseException) -> bool:
    """Whether a collective failed since another rank, or the way to it, is gone."""
    return any(_is_of_collective(one) for one in _chain(error))


def _is_of_collective(error: BaseException) -> bool:
    text = str(error)
    if type(error).__name__ in DISTRIBUTED_ERRORS:
        return True
    # gloo's own errors are plain RuntimeErrors; those of unequal tensors, too, which are the user's.
    return isinstance(error, RuntimeError) and bool(COLLECTIVE.search(text)) and bool(LOST_PEERS.search(text))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 20:
        yield error
        error, seen = error.__cause__ or error.__context__, seen + 1


def _is_of_gpu_memory(error: BaseException) -> bool:
    return type(error).__name__ == "OutOfMemoryError" and type(error).__module__.startswith("torch")


def _exit_code(error: BaseException) -> ExitCode:
    """A script may end with a code of the table that is a fault's."""
    if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code in FAULTS:
        return ExitCode(error.code)
    return ExitCode.CODE


def placed(failure: Failure, checkpoint: int | None) -> str:
    """The message, with the step and the last checkpoint. What argosy refused before the first step needs neither."""
    if failure.told and (failure.step is None or "checkpoint" in failure.message):
        return failure.message
    return f"{failure.message}; {where(failure.step, checkpoint)}"


def where(step: int | None, checkpoint: int | None) -> str:
    """`at step 120, last checkpoint 100`."""
    at = "before the first step" if step is None else f"at step {step}"
    return at if checkpoint is None else f"{at}, {f'last checkpoint {checkpoint}' if checkpoint else 'no checkpoint'}"
