"""Whether a remote has what is pinned: asked when a run is submitted, so that no pod starts for what is not there."""

from collections.abc import Sequence
from pathlib import Path

from argosy.steps.cache.entry import Entry
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.pins import Pin, PinnedSource
from argosy.steps.stage import complaints, listing, loop, selection, store
from argosy.steps.stage.complaints import Lack
from argosy.steps.stage.failures import ObjectFailure, StoreFailure
from argosy.steps.stage.pace import Pace, together
from argosy.steps.stage.store import Store

ASKED_AT_MOST = 64
"""Objects: all of a dataset of shards, and of many small files enough to find a push that was cut short."""
ATTEMPTS = 3
"""Somebody waits, and a pod will ask with more patience."""


def check(pin: Pin, project: Path) -> str:
    """Why the remote could not be asked from here; empty: its lists of files are sound, and a sample is there.

    Raises StepError (DATA) for what is missing or unsafe.
    """
    for source in pin.sources:
        try:
            _check(source, project)
        except StepError as error:
            if error.exit_code == ExitCode.DATA:
                raise
            return error.message
    return ""


def _check(source: PinnedSource, project: Path) -> None:
    remote = store.opened(source.remote, project)
    entries = selection.selected(source, listing.entries(remote, source, attempts=ATTEMPTS))
    try:
        lacks = loop.run(_lacks(remote, _sample(entries)))
    except StoreFailure as failure:
        raise complaints.of_store(remote, failure) from None
    if lacks:
        raise complaints.of_objects(lacks)


def _sample(entries: Sequence[Entry]) -> list[Entry]:
    """Objects from all over the dataset, its last one among them."""
    unique = list({entry.md5: entry for entry in entries}.values())
    step = max(1, len(unique) / ASKED_AT_MOST)
    return [unique[-1 - int(number * step)] for number in range(min(len(unique), ASKED_AT_MOST))]


async def _lacks(remote: Store, entries: Sequence[Entry]) -> list[Lack]:
    pace = Pace(attempts=ATTEMPTS)
    asked = [_lack(remote, pace, entry) for entry in entries]
    return [lack for lack in await together(asked) if lack]


async def _lack(remote: Store, pace: Pace, entry: Entry) -> Lack | None:
    try:
        await pace.asked(lambda: remote.size(entry.md5))
    except ObjectFailure as failure:
        return Lack(entry.path, entry.md5, remote, failure)
    return None
