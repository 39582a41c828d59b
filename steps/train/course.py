"""A node's part of an attempt, from its beginning to its entry in the run's history."""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from argosy.steps import pod
from argosy.steps.contracts import ExitCode, TrainInput, TrainOutput
from argosy.steps.errors import StepError, Terminated
from argosy.steps.train.attempt import Outcome
from argosy.steps.train.failures import Failure
from argosy.steps.train.history import History
from argosy.steps.train.nodes import Node
from argosy.steps.train.run import Run
from argosy.steps.train.supervisor import Failed, StoppedElsewhere, Supervisor

WORD_SECONDS = 5.0
"""Time in which other nodes say why they failed."""
RESULT_SECONDS = 300.0
"""Time between the end of a node's ranks and the result, which the leader writes."""
LOOK_SECONDS = 0.5
"""A file that another node writes to a shared file system tells nobody: it is looked for."""

Supervising = Callable[..., Supervisor]


def led(inputs: TrainInput, run: Run, node: Node, folder: Path, supervising: Supervising = Supervisor) -> Outcome:
    """The leader's part, or that of the only node. Raises StepError, or Terminated or KeyboardInterrupt with words."""
    history = History(run.folder)
    record = history.begin()

    def note(step: int | None, checkpoint: int | None) -> None:
        nonlocal record
        record = history.note(record, step, checkpoint)

    elsewhere = partial(_elsewhere, history, node)
    try:
        outcome = supervising(inputs, folder, node, record.attempt, note=note, elsewhere=elsewhere).train()
    except (Terminated, KeyboardInterrupt) as stop:
        code = pod.TERMINATED if isinstance(stop, Terminated) else pod.INTERRUPTED
        history.end(record, code, f"stopped by a signal {stop}")
        raise
    except StoppedElsewhere as stop:
        history.end(record, ExitCode.TEMPORARY, str(stop))
        raise StepError(ExitCode.TEMPORARY, str(stop)) from None
    except Failed as failed:
        exit_code, message, cause = _together(failed.failure, history, record.attempt, node)
        ended = history.end(record, exit_code, message, cause)
        raise StepError(ExitCode(ended.exit_code or exit_code), ended.message) from None
    except StepError as error:
        history.end(record, error.exit_code, error.message, error.message)
        raise
    if outcome is None:
        raise AssertionError("the leader's ranks know the outcome")
    history.end(record, ExitCode.OK)
    return outcome


def followed(
    inputs: TrainInput, run: Run, node: Node, folder: Path, supervising: Supervising = Supervisor
) -> TrainOutput:
    """Another node's part: it ends with the leader's result. Raises as `led`."""
    history = History(run.folder)
    elsewhere = partial(_elsewhere, history, node)
    supervisor = supervising(inputs, folder, node, "", note=lambda _step, _checkpoint: None, elsewhere=elsewhere)
    try:
        supervisor.train()
    except StoppedElsewhere as stop:
        raise StepError(ExitCode.TEMPORARY, str(stop)) from None
    except Failed as failed:
        group = supervisor.attempt.group
        if group is None:
            raise StepError(failed.failure.exit_code, failed.failure.message) from None
        exit_code, message, _ = _together(failed.failure, history, group.owner, node)
        raise StepError(exit_code, message) from None
    group = supervisor.attempt.group
    if group is None:
        raise AssertionError("ranks that ended well have met")
    late = node.rank not in group.nodes
    if late:
        sys.stderr.write(f"node {node.rank}: came after the last call; nodes {group.nodes} train without it\n")
    return _awaited(run, history, group.owner, None if late else RESULT_SECONDS)


def _elsewhere(history: History, node: Node, attempt: str) -> Failure | None:
    """Why another node ended the attempt, in words that leave the first place to its own."""
    told = history.told(attempt)
    if not told or all(one.of_peers for one in told.values()):
        return None
    first = next(iter(told.values()))
    return first.model_copy(update={"message": f"node {node.rank} lost the others", "of_peers": True})


def _together(failure: Failure, history: History, attempt: str, node: Node) -> tuple[ExitCode, str, str]:
    """Exit code, message and cause, after the other nodes were heard; a cause of its own comes first."""
    if node.of == 1:
        return failure.exit_code, failure.message, failure.cause
    met = failure.rank >= 0 or not failure.told
    if not met:  # the nodes did not find each other, which says nothing about the training
        return failure.exit_code, failure.message, ""
    history.tell(attempt, node.rank, failure)
    until = time.monotonic() + (WORD_SECONDS if failure.of_peers else LOOK_SECONDS)
    told = history.told(attempt)
    while time.monotonic() < until and len(told) < node.of and all(one.of_peers for one in told.values()):
        time.sleep(LOOK_SECONDS)
        told = history.told(attempt)
    own = {rank: one for rank, one in told.items() if not one.of_peers}
    first = min(own, key=lambda rank: own[rank].at, default=node.rank)
    if first != node.rank:
        return ExitCode.TEMPORARY, f"node {first} failed: {own[first].message}", own[first].cause
    silent = sorted(set(range(node.of)) - set(told)) if failure.of_peers else []
    words = f"; no word of node {', '.join(map(str, silent))}: it was killed, or is cut off" if silent else ""
    return failure.exit_code, f"{failure.message}{words}", failure.cause


def _awaited(run: Run, history: History, attempt: str, seconds: float | None) -> TrainOutput:
    """The leader's result. Raises StepError (TEMPORARY) when it ends without one, or does not end in time."""
    until = None if seconds is None else time.monotonic() + seconds
    while not (result := run.result()):
        record = history.of(attempt)
        if record and record.exit_code:
            raise StepError(ExitCode.TEMPORARY, f"node 0 ended without a result: {record.message}")
        if until is not None and time.monotonic() > until:
            raise StepError(ExitCode.TEMPORARY, f"node 0 gave no result within {seconds:.0f} s of the ranks' end")
        time.sleep(LOOK_SECONDS)
    return result
