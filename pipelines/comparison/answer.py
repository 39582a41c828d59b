"""Whether a model that was made again is the model that it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from argosy.pipelines.comparison import differences
from argosy.pipelines.comparison.differences import Difference, Heading, Itemise
from argosy.pipelines.comparison.origin import Origin

if TYPE_CHECKING:
    from argosy.steps.gates import Verdict

OF_THE_MACHINE = (" ms", " MiB")
"""Units, after the metric, of what a machine has, and not the model: times and memory are shown, and decide nothing."""


class Sameness(StrEnum):
    BYTES = "same bytes"
    TOLERANCE = "same within tolerance"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Reproduction:
    answer: Sameness
    reason: str
    differences: Sequence[Difference]


def judged(recorded: Origin, again: Origin, itemise: Itemise, tolerance: float, failure: str = "") -> Reproduction:
    """`itemise`: as of `differences`. `tolerance`: how far each gate's estimate may lie from the recorded one.
    `failure`: why it was not made again.

    Results are compared, causes are not: a model of other data that is as good is the same within tolerance only if
    nothing but machine, image and packages differs.
    """
    found = _of_what_ran(recorded, again, itemise)
    made_of = [one for one in found if one.heading in (Heading.CODE, Heading.DATA, Heading.PARAMETERS)]
    reason = ""
    if failure:
        reason = failure
    elif not again.model_hash:
        reason = "no model was made"
    elif again.model_hash == recorded.model_hash:
        return Reproduction(Sameness.BYTES, f"sha256 {again.model_hash}", found)
    elif made_of:
        reason = "it was made of something else: " + ", ".join(dict.fromkeys(_named(one) for one in made_of))
    elif far := _far(recorded, again, tolerance):
        reason = "; ".join(far)
    if reason:
        return Reproduction(Sameness.DIFFERENT, reason, found)
    return Reproduction(Sameness.TOLERANCE, f"every gate's estimate is within {tolerance:g}", found)


def _of_what_ran(recorded: Origin, again: Origin, itemise: Itemise) -> list[Difference]:
    """The recorded manifest is what ran, but for what was left out of it, gates among that."""
    left_out = recorded.verdicts.keys() - again.templates.keys()
    found = differences.differences(recorded, again, itemise)
    return [one for one in found if one.heading is not Heading.MANIFEST and one.what not in left_out]


def _named(difference: Difference) -> str:
    return f"{difference.heading} {difference.what}".strip()


def _far(recorded: Origin, again: Origin, tolerance: float) -> list[str]:
    """The gates that decide on the model and see another one, or that ran and have not decided."""
    far = []
    for gate, before in recorded.verdicts.items():
        after = again.verdicts.get(gate)
        if after is None and gate in again.templates:
            far.append(f"{gate}: {_told(before)} was recorded, no verdict came out")
        elif after is not None and _is_of_the_model(before) and _differ(before, after, tolerance):
            far.append(f"{gate}: {_told(before)} was recorded, {_told(after)} came out")
    return far


def _is_of_the_model(verdict: "Verdict") -> bool:
    return not verdict.metric.endswith(OF_THE_MACHINE)


def _differ(before: "Verdict", after: "Verdict", tolerance: float) -> bool:
    if before.answer != after.answer or before.estimate is None or after.estimate is None:
        return before.answer != after.answer or before.estimate != after.estimate
    return abs(before.estimate - after.estimate) > tolerance


def _told(verdict: "Verdict") -> str:
    return f"{verdict.answer} with {verdict.metric} {verdict.estimate}"
