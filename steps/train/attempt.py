"""What passes between a supervisor and its ranks: files in a folder that lives as long as the attempt.

inputs.json     the step's input
leash           a named pipe, which the supervisor holds open
rank-N.json     why rank N failed
exits.json      failed rank -> its exit code, negative for a signal
outcome.json    what the training gave
"""

import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import FiniteFloat

from argosy.steps import files, pod
from argosy.steps.base import Contract
from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.errors import StepError


class Failure(Contract):
    """Why a rank failed."""

    rank: int
    at: float
    """Seconds since the epoch: the first failure is the cause, others follow from it."""
    exit_code: ExitCode
    message: str
    trace: str
    """The traceback; empty when the message says all."""


class Outcome(Contract):
    """What the ranks achieved."""

    resumed_at_step: int
    step: int
    model_hash: str = ""
    """Empty: stopped before the end, with a checkpoint at `step`."""
    loss: FiniteFloat = 0.0
    validation_accuracy: FiniteFloat = 0.0
    samples_per_second: FiniteFloat = 0.0


class Attempt:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._leash = folder / "leash"
        self._exits = folder / "exits.json"
        self._outcome = folder / "outcome.json"

    @property
    def inputs(self) -> TrainInput:
        return TrainInput.model_validate_json((self.folder / "inputs.json").read_bytes())

    def begin(self, inputs: TrainInput) -> None:
        files.write_text(self.folder / "inputs.json", inputs.model_dump_json())

    # The leash. While the supervisor holds it, a rank's read waits; a byte asks to stop; the end of the file means that
    # the supervisor is gone, however it died, and the rank must not live on. Linux and macOS alike.

    @contextmanager
    def leash(self) -> Iterator[int]:
        """The supervisor's end, a file descriptor to be given to `ask_to_stop`."""
        os.mkfifo(self._leash)
        reader = os.open(self._leash, os.O_RDONLY | os.O_NONBLOCK)  # without a reader, opening to write would wait
        writer = os.open(self._leash, os.O_WRONLY)
        try:
            yield writer
        finally:
            os.close(writer)
            os.close(reader)

    @staticmethod
    def ask_to_stop(leash: int) -> None:
        """All ranks stop after the same step, with a checkpoint. One rank reads this, and tells the others."""
        os.write(leash, b"s")

    def follow_leash(self) -> threading.Event:
        """A rank's end: set when asked to stop. The process is killed when the supervisor is gone."""
        stop = threading.Event()
        # Opened without waiting: the supervisor may be gone already, and nobody would ever open the other end.
        leash = os.open(self._leash, os.O_RDONLY | os.O_NONBLOCK)
        threading.Thread(target=_follow, args=(leash, stop), daemon=True).start()
        return stop

    def report_failure(self, rank: int, error: BaseException) -> None:
        told = isinstance(error, StepError)
        failure = Failure(
            rank=rank,
            at=time.time(),
            exit_code=error.exit_code if isinstance(error, StepError) else ExitCode.CODE,
            message=error.message if isinstance(error, StepError) else f"rank {rank}: {pod.described(error)}",
            trace="" if told else "".join(traceback.format_exception(error)),
        )
        files.write_text(self.folder / f"rank-{rank}.json", failure.model_dump_json())

    def report_exits(self, exits: dict[int, int]) -> None:
        files.write_text(self._exits, json.dumps(exits))

    def report_outcome(self, outcome: Outcome) -> None:
        files.write_text(self._outcome, outcome.model_dump_json())

    def first_failure(self) -> Failure | None:
        paths = self.folder.glob("rank-*.json")
        failures = [Failure.model_validate_json(path.read_bytes()) for path in paths]
        return min(failures, key=lambda failure: failure.at, default=None)

    def exits(self) -> dict[int, int]:
        return (
            {int(rank): code for rank, code in json.loads(self._exits.read_text()).items()}
            if self._exits.exists()
            else {}
        )

    def outcome(self) -> Outcome | None:
        return Outcome.model_validate_json(self._outcome.read_bytes()) if self._outcome.exists() else None


def _follow(leash: int, stop: threading.Event) -> None:
    try:
        read = os.read(leash, 1)
    except BlockingIOError:
        read = b"held"
    os.set_blocking(leash, True)
    while read:
        if read == b"s":
            stop.set()
        read = os.read(leash, 1)
    os.kill(os.getpid(), signal.SIGKILL)
