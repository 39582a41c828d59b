"""Which attempt a run belongs to: MODELS/RUN/owner.json, written by each that begins.

A lock ends with its holder's node or mount and cannot stop a process that slept through that. Whoever writes anything
of a run asks here first, and an older attempt that wakes up writes nothing more.
"""

import time
from pathlib import Path

from pydantic import ValidationError

from argosy.steps import files
from argosy.steps.base import Contract
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError


class Owner(Contract):
    attempt: str
    begun: str
    """UTC, to the second."""


def take(run: Path, attempt: str) -> None:
    """The run belongs to this attempt from now on."""
    owner = Owner(attempt=attempt, begun=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()))
    files.write_text(run / "owner.json", owner.model_dump_json(indent=2) + "\n")


def require(run: Path, attempt: str) -> None:
    """Raises StepError (TEMPORARY) when the run belongs to another attempt."""
    try:
        owner = Owner.model_validate_json((run / "owner.json").read_bytes())
    except (FileNotFoundError, ValidationError):
        return
    if owner.attempt != attempt:
        raise StepError(
            ExitCode.TEMPORARY,
            f"run {run.name}: a later attempt, begun at {owner.begun}, trains it now; this one ends and writes nothing",
        )
