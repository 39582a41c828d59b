"""Moving an alias: in the order of the versions, and only past the champion that the model was compared with.

Each call below may be the last before a kill. The version that is displaced is written down before the alias moves, and
the decision after it: an undecided version is decided anew, and finds what it has done already.
"""

from dataclasses import dataclass

from argosy.steps.gates import Answer, Policy, Verdict
from argosy.steps.publish import comparison, turn
from argosy.steps.publish.tags import GATE, REPLACES, Decision
from argosy.steps.publish.versions import Version, Versions
from argosy.steps.registry import PublishInput

CHALLENGER = "challenger"
"""Alias of the newest version that lost the comparison with the champion."""


@dataclass(frozen=True)
class Outcome:
    decision: Decision
    reason: str


def decide(inputs: PublishInput, versions: Versions, version: Version) -> None:
    """The alias is at this version, or it is decided why not. What was decided before stays.

    Raises StepError as the comparison does.
    """
    if version.decision not in {None, Decision.PASSED_OVER}:
        return
    with turn.alive(versions, version.number):
        turn.wait(versions, version.number, inputs.alias)
        outcome = _decided(inputs, versions, version)
        if _is_rolled_back(versions, version.number):
            return  # a person was quicker
        versions.decide(version.number, outcome.decision, outcome.reason)
        if outcome.decision is Decision.CHAMPION:
            _mend(versions, inputs.alias)


def _decided(inputs: PublishInput, versions: Versions, version: Version) -> Outcome:
    verdicts = dict(inputs.verdicts)
    while True:
        holder = versions.holder(inputs.alias)
        if holder == version.number:
            return Outcome(Decision.CHAMPION, f"{inputs.alias} is at it already")
        latest = max(holder or 0, _latest_champion(versions, inputs.alias))
        if latest > version.number:
            reason = f"version {latest} was published later, and {inputs.alias} was at it before"
            return Outcome(Decision.SUPERSEDED, reason)
        stale = [gate for gate in inputs.comparisons if verdicts[gate].champion != holder]
        if not stale:
            return _champion(versions, inputs.alias, version.number, holder)
        for gate in stale:
            verdicts[gate] = comparison.again(inputs, gate)
            _note(versions, version, gate, verdicts[gate])
            if not _passes(verdicts[gate]):
                return _challenger(versions, inputs.alias, version.number, verdicts[gate])


def _is_rolled_back(versions: Versions, number: int) -> bool:
    return any(one.number == number and one.decision is Decision.ROLLED_BACK for one in versions.all())


def _champion(versions: Versions, alias: str, number: int, holder: int | None) -> Outcome:
    if holder is not None:
        versions.tag(number, REPLACES, str(holder))
    versions.point(alias, number)
    return Outcome(Decision.CHAMPION, f"in the place of version {holder}" if holder else "there was none before")


def _challenger(versions: Versions, alias: str, number: int, verdict: Verdict) -> Outcome:
    if alias != CHALLENGER and (versions.holder(CHALLENGER) or 0) < number:
        versions.point(CHALLENGER, number)
    return Outcome(Decision.CHALLENGER, f"{verdict.gate}: {verdict.reason}")


def _passes(verdict: Verdict) -> bool:
    """Nobody can be asked here: what would be held for a person does not pass."""
    return verdict.answer is Answer.PASS or (
        verdict.answer is Answer.INCONCLUSIVE and verdict.inconclusive is Policy.PASS
    )


def _note(versions: Versions, version: Version, gate: str, verdict: Verdict) -> None:
    file = f"comparisons/{gate}-with-version-{verdict.champion}.json"
    versions.client.log_text(version.run_id, verdict.model_dump_json(indent=2) + "\n", file)
    versions.tag(version.number, f"{GATE}{gate}", verdict.reason)


def _latest_champion(versions: Versions, alias: str) -> int:
    decided = [one for one in versions.all() if one.is_for(alias) and one.decision is Decision.CHAMPION]
    return max((one.number for one in decided), default=0)


def _mend(versions: Versions, alias: str) -> None:
    """The later version wins over a publisher that was passed over, woke up and moved the alias back."""
    latest = _latest_champion(versions, alias)
    if latest and (versions.holder(alias) or 0) < latest:
        versions.point(alias, latest)
