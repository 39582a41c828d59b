"""What passes between a supervisor and its ranks: files in a folder that lives as long as the attempt.

inputs.json     the step's input
group.json      the attempt's name, and the nodes that take part
leash           a named pipe, which the supervisor holds open
beat-N          how far rank N is, see beats.py
stack-N         where rank N was when it was asked, see stacks.py
checkpoint      the step of the newest checkpoint that counts
rank-N.json     why rank N failed
exits.json      failed rank -> its exit code, negative for a signal
outcome.json    what the training gave
"""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import FiniteFloat

from argosy.steps import files
from argosy.steps.base import Contract
from argosy.steps.contracts import TrainInput
from argosy.steps.train import ownership, stacks
from argosy.steps.train.beats import Beat, Pulse, pulse
from argosy.steps.train.failures import Failure, failure_of
from argosy.steps.train.run import Run

ATTEMPT = "ARGOSY_ATTEMPT"
"""Environment variable of a rank that names the attempt's folder."""
PEERS_SECONDS = 3.0
"""Time that a rank leaves to the one that it lost, to be seen as the first that failed."""


class Outcome(Contract):
    """What the ranks achieved."""

    resumed_at_step: int
    step: int
    model_hash: str = ""
    """Empty: stopped before the end, with a checkpoint at `step`."""
    loss: FiniteFloat | None = None
    validation_accuracy: FiniteFloat | None = None
    samples_per_second: FiniteFloat | None = None
    save_seconds: FiniteFloat = 0.0
    stall_seconds: FiniteFloat = 0.0


class Group(Contract):
    """Who takes part in an attempt."""

    owner: str
    """The attempt's name, which no other has."""
    nodes: tuple[int, ...] = (0,)
    """In the order of their ranks."""


class Attempt:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._leash = folder / "leash"
        self._group = folder / "group.json"
        self._checkpoint = folder / "checkpoint"
        self._exits = folder / "exits.json"
        self._outcome = folder / "outcome.json"
        self._met: Group | None = None

    @property
    def inputs(self) -> TrainInput:
        return TrainInput.model_validate_json((self.folder / "inputs.json").read_bytes())

    def begin(self, inputs: TrainInput) -> None:
        files.write_text(self.folder / "inputs.json", inputs.model_dump_json())

    def gather(self, group: Group) -> None:
        """These nodes train together now."""
        files.write_text(self._group, group.model_dump_json())

    @property
    def group(self) -> Group | None:
        """None: the nodes have not met. Once they have, it stays as it is."""
        if self._met is None and self._group.exists():
            self._met = Group.model_validate_json(self._group.read_bytes())
        return self._met

    def fence(self) -> None:
        """Called before anything of the run is written. Raises StepError (TEMPORARY) when another attempt owns it."""
        if group := self.group:
            ownership.require(Run(self.inputs).folder, group.owner)

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

    # What a rank tells.

    def beat(self, rank: int) -> Beat:
        """The rank has begun: from here on its supervisor sees how far it is, and can ask where it is."""
        stacks.answer(self.folder / f"stack-{rank}")
        return Beat(self._beat(rank))

    def report_checkpoint(self, step: int) -> None:
        """The newest checkpoint that counts is of this step: on each node, when resumed and when one is committed."""
        files.write_text(self._checkpoint, str(step))

    def report_failure(self, rank: int, error: BaseException) -> None:
        """Why the rank failed; the first that is told counts. One that only lost its peers waits to be ended, so that
        theirs is seen as the first.
        """
        failure = self._failure(rank, error)
        path = self.folder / f"rank-{rank}.json"
        if not path.exists():
            files.write_text(path, failure.model_dump_json())
        if failure.of_peers:
            threading.Event().wait(PEERS_SECONDS)

    def report_exits(self, exits: dict[int, int]) -> None:
        files.write_text(self._exits, json.dumps(exits))

    def report_outcome(self, outcome: Outcome) -> None:
        files.write_text(self._outcome, outcome.model_dump_json())

    # What the supervisor reads.

    def pulse(self, rank: int) -> Pulse | None:
        """None: the rank has not begun."""
        return pulse(self._beat(rank), rank)

    def checkpoint(self) -> int | None:
        """None: no rank has said which there is."""
        return int(self._checkpoint.read_text(encoding="ascii")) if self._checkpoint.exists() else None

    def failures(self) -> list[Failure]:
        """Of all ranks, the first first."""
        paths = self.folder.glob("rank-*.json")
        failures = [Failure.model_validate_json(path.read_bytes()) for path in paths]
        return sorted(failures, key=lambda failure: failure.at)

    def exits(self) -> dict[int, int]:
        return (
            {int(rank): code for rank, code in json.loads(self._exits.read_text()).items()}
            if self._exits.exists()
            else {}
        )

    def outcome(self) -> Outcome | None:
        return Outcome.model_validate_json(self._outcome.read_bytes()) if self._outcome.exists() else None

    def _beat(self, rank: int) -> Path:
        return self.folder / f"beat-{rank}"

    def _failure(self, rank: int, error: BaseException) -> Failure:
        found = self.pulse(rank)
        step = found.step if found else None
        try:
            return failure_of(rank, error, step=step)
        except Exception as mute:  # noqa: BLE001 - whatever the user's own exception raises when asked for its words
            return failure_of(rank, mute, step=step)


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
