"""Whose turn it is to move an alias: the versions' numbers are the tickets of a queue.

A publisher waits until every lower version that was published for its alias is decided. One that falls silent is passed
over. Silence is measured on the clock of whoever waits, by a tag that the other changes: no two clocks need agree.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from argosy.steps.errors import StepError
from argosy.steps.publish.tags import LEASE, Decision
from argosy.steps.publish.versions import Version, Versions

SILENCE_SECONDS = 60.0
"""After so long without a sign of life a publisher is passed over."""
SIGNS_IN_SILENCE = 4
LOOK_SECONDS = 1.0


def sign() -> str:
    """A sign of life: the time, for a person; what counts is that it changes."""
    return datetime.now(UTC).isoformat()


@contextmanager
def alive(versions: Versions, number: int) -> Iterator[None]:
    """While the block lasts, this version shows signs of life."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    over = threading.Event()

    def show() -> None:
        while not over.wait(SILENCE_SECONDS / SIGNS_IN_SILENCE):
            try:
                versions.tag(number, LEASE, sign())
            except (MlflowException, SQLAlchemyError, StepError):
                continue  # the next sign may arrive

    # Not waited for: a sign that is still on its way to a slow server does no harm.
    threading.Thread(target=show, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def wait(versions: Versions, number: int, alias: str) -> None:
    """Returns when no lower version for this alias is undecided; passes over those that are silent."""
    heard: dict[int, tuple[str | None, float]] = {}
    while before := _undecided_before(versions, number, alias):
        now = time.monotonic()
        for one in before:
            lease = one.tags.get(LEASE)
            last, since = heard.get(one.number, (None, now))
            if lease != last:
                since = now
            heard[one.number] = (lease, since)
            if now - since > SILENCE_SECONDS:
                reason = f"its publisher gave no sign of life for {SILENCE_SECONDS:g} s; version {number} went ahead"
                versions.decide(one.number, Decision.PASSED_OVER, reason)
        time.sleep(LOOK_SECONDS)  # a registry has no events to wait for


def _undecided_before(versions: Versions, number: int, alias: str) -> list[Version]:
    return [one for one in versions.all() if one.number < number and one.is_for(alias) and one.decision is None]
