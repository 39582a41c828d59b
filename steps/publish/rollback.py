"""The rollback step: an alias, back to the version that it was at before, or to one that is named."""

import time

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, data_error
from argosy.steps.publish import place, published
from argosy.steps.publish.client import connected
from argosy.steps.publish.tags import GATE, REPLACES, Decision
from argosy.steps.publish.versions import Version, Versions
from argosy.steps.registry import RollbackInput, RollbackOutput

HAVE_PASSED = {Decision.CHAMPION, Decision.SUPERSEDED, Decision.ROLLED_BACK}


def run(inputs: RollbackInput) -> RollbackOutput:
    """The version that the alias leaves is marked first, so that no retry of its publisher brings it back.

    Naming a version, this may be done again with the same outcome. "The one before" may not: done twice, it goes back
    twice. The outcome says which version was left, and an alias that moves meanwhile is left where it then is.

    Raises StepError: DATA when there is no such version, none before, or it has not passed its gates; TEMPORARY when
    the alias moved meanwhile, or MLflow does not answer; CONFIGURATION when it refuses.
    """
    started = time.monotonic()
    with connected(place.tracking_uri(inputs)) as client:
        versions = Versions(client, inputs.registry)
        left = published.held(versions, inputs.alias)
        target = published.numbered(versions, inputs.version or _before(versions, inputs.alias, left))
        _check(versions, target)
        if left is None or left.number != target.number:
            _move(versions, inputs.alias, left, target)
    number = left.number if left else 0
    moved = f"back from version {number}" if number > target.number else f"from version {number}" if number else "anew"
    return RollbackOutput(
        summary=f"{inputs.alias} is at {inputs.registry} version {target.number}"
        + ("" if number == target.number else f", {moved}"),
        seconds=time.monotonic() - started,
        version=target.number,
        left=number,
    )


def _before(versions: Versions, alias: str, left: Version | None) -> int:
    if left is None:
        raise published.lacking(versions, f"no version is {alias}, so there is none before; name a version to go to")
    if REPLACES not in left.tags:
        raise data_error(
            f"{versions.name} version {left.number}: has no tag {REPLACES}, which would say what was {alias} before; "
            "name a version to go to"
        )
    return int(left.tags[REPLACES])


def _check(versions: Versions, target: Version) -> None:
    """Versions from before there were decisions were registered only when they had passed."""
    judged = any(name.startswith(GATE) for name in target.tags)
    is_old = target.decision is None and not target.awaits_turn
    if not judged or not (is_old or target.decision in HAVE_PASSED):
        said = f"{target.decision}: {target.reason}" if target.decision else "no decision that it has passed its gates"
        raise data_error(f"{versions.name} version {target.number}: may not become champion; its tags say {said}")


def _move(versions: Versions, alias: str, left: Version | None, target: Version) -> None:
    _require(versions, alias, left)
    if left is not None:
        versions.decide(left.number, Decision.ROLLED_BACK, f"{alias} was moved to version {target.number}")
        _require(versions, alias, left)
    versions.point(alias, target.number)
    versions.decide(target.number, Decision.CHAMPION, f"{alias} was moved to it by hand")


def _require(versions: Versions, alias: str, left: Version | None) -> None:
    """The alias is still where it was. Raises StepError (TEMPORARY)."""
    if (now := versions.holder(alias)) != (left.number if left else None):
        raise StepError(
            ExitCode.TEMPORARY, f"{versions.name}: {alias} has moved to version {now} meanwhile; look, and try again"
        )
