"""The supervisor above a rank. Imports nothing that takes long, since a rank begins with it."""

import os
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from argosy.steps.train.attempt import ATTEMPT, Attempt
from argosy.steps.train.beats import Beat


@dataclass(frozen=True)
class Supervision:
    attempt: Attempt
    signs: Beat
    stop: threading.Event
    """Set when this rank is asked to stop."""


@cache
def supervision() -> Supervision | None:
    """From the first call on the supervisor sees this rank, and the rank ends with it; None: there is none."""
    folder = os.environ.get(ATTEMPT)
    if not folder:
        return None
    attempt = Attempt(Path(folder))
    stop = attempt.follow_leash()
    signs = attempt.beat(int(os.environ["RANK"]))
    signs.rest("start")
    return Supervision(attempt, signs, stop)
