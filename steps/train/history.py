"""The attempts of a run: MODELS/RUN/attempts/NUMBER-ID.json, written by its supervisor when it begins, at its first
step, at each checkpoint, and at its end; NUMBER-ID.node-N.json, why node N of the attempt failed.

Two equal failures in a row, without a new checkpoint between, are final. An attempt that left no ending was killed,
which says nothing about the training.
"""

import time
import uuid
from pathlib import Path

from pydantic import ValidationError

from argosy.steps import files
from argosy.steps.base import Contract
from argosy.steps.contracts import RETRIED, ExitCode, failure_class
from argosy.steps.train import ownership
from argosy.steps.train.failures import NO_CAUSE, Failure, where

KEPT = 20
KILLED = "killed, without a word"
LOOK_SECONDS = 5.0
"""Time between two looks at whose the run is."""


class Record(Contract):
    """One attempt."""

    attempt: str
    """`NUMBER-ID`; later ones sort behind."""
    begun: str
    ended: str = ""
    """UTC, to the second. Empty: it goes on, or was killed."""
    step: int | None = None
    """Steps done; None: none in this attempt."""
    checkpoint: int = 0
    """The newest that counts, as far as this attempt knew."""
    exit_code: int | None = None
    message: str = ""
    cause: str = ""
    """What made it fail; empty: nothing that counts."""
    final: bool = False
    """Whether it was one failure too many: whoever starts the run again begins to count anew."""


class History:
    """Of one run, for its supervisor, which holds the run's lock."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._folder = run / "attempts"
        self._looked_at = 0.0

    def begin(self) -> Record:
        """A new attempt, which owns the run from now on."""
        self._folder.mkdir(exist_ok=True)
        records = self._records()
        if records and not records[-1].ended:
            self._write(self._ended(records[-1], ExitCode.TEMPORARY, f"{KILLED} {_where(records[-1])}", NO_CAUSE))
        number = 1 + int(records[-1].attempt.partition("-")[0]) if records else 1
        record = Record(
            attempt=f"{number:06}-{uuid.uuid4().hex[:12]}",
            begun=_now(),
            checkpoint=records[-1].checkpoint if records else 0,
        )
        ownership.take(self._run, record.attempt)
        self._write(record)
        self._prune()
        return record

    def note(self, record: Record, step: int | None, checkpoint: int | None) -> Record:
        """The attempt is this far. Raises StepError (TEMPORARY) when a later attempt owns the run."""
        noted = record.model_copy(
            update={"step": step, "checkpoint": record.checkpoint if checkpoint is None else checkpoint}
        )
        is_news = noted.checkpoint != record.checkpoint or (record.step is None) != (step is None)
        now = time.monotonic()
        if is_news or now - self._looked_at > LOOK_SECONDS:
            ownership.require(self._run, record.attempt)
            self._looked_at = now
        if is_news:
            self._write(noted)
        return noted

    def end(self, record: Record, exit_code: int, message: str = "", cause: str = "") -> Record:
        """The attempt is over; without a cause it does not count. Raises StepError (TEMPORARY) as `note`."""
        ownership.require(self._run, record.attempt)
        ended = self._ended(record, exit_code, message, cause)
        self._write(ended)
        return ended

    def of(self, attempt: str) -> Record | None:
        """As another node sees it."""
        return _read(self._folder / f"{attempt}.json")

    # What nodes tell each other.

    def tell(self, attempt: str, node: int, failure: Failure) -> None:
        self._folder.mkdir(exist_ok=True)
        files.write_text(self._folder / f"{attempt}.node-{node}.json", failure.model_dump_json(exclude={"trace"}))

    def told(self, attempt: str) -> dict[int, Failure]:
        """Node -> why it failed."""
        found = self._folder.glob(f"{attempt}.node-*.json")
        return {int(path.stem.rpartition("-")[2]): Failure.model_validate_json(path.read_bytes()) for path in found}

    def _ended(self, record: Record, exit_code: int, message: str, cause: str) -> Record:
        before = [one for one in self._records() if one.attempt < record.attempt and one.exit_code and one.cause]
        last = before[-1] if before else None
        again = (
            cause != NO_CAUSE
            and failure_class(exit_code) in RETRIED
            and last is not None
            and (last.cause, last.final) == (cause, False)
            and record.checkpoint <= last.checkpoint
        )
        if again:
            exit_code = ExitCode.CODE
            message = f"the same failure twice in a row, without a new checkpoint between: {message}"
        return record.model_copy(
            update={"ended": _now(), "exit_code": exit_code, "message": message, "cause": cause, "final": again}
        )

    def _records(self) -> list[Record]:
        records = (_read(path) for path in sorted(self._folder.glob("*.json")) if ".node-" not in path.name)
        return [record for record in records if record]

    def _write(self, record: Record) -> None:
        files.write_text(self._folder / f"{record.attempt}.json", record.model_dump_json(indent=2) + "\n")

    def _prune(self) -> None:
        files.sweep(self._folder)
        kept = {record.attempt for record in self._records()[-KEPT:]}
        for path in self._folder.glob("*.json"):
            if path.name.partition(".")[0] not in kept:
                path.unlink(missing_ok=True)


def _read(path: Path) -> Record | None:
    """None: it is not there, or is none of this version of argosy."""
    try:
        return Record.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _where(record: Record) -> str:
    return where(record.step, record.checkpoint)


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
