"""`python -m argosy.steps.gate.plan --gate=accuracy --threshold=0.9 --expected=0.95 ... --output=FOLDER`.

Tells how many samples a gate needs to be worth having, before any model is trained.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence

from argosy.steps import program
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gate.planning import PlanInput, PlanOutput

MOST = 10_000_000
"""Samples: who would need more has no gate."""


def run(inputs: PlanInput) -> PlanOutput:
    """The samples that the gate needs, and what those that there are can tell. Raises StepError (USAGE)."""
    from argosy.steps.gate import looks

    started = time.monotonic()
    _check(inputs)
    fewest = _fewest(inputs)
    approximate, method = _power(inputs)

    def passes(sizes: Sequence[int]) -> float:
        return 0.0 if fewest and sizes[-1] < fewest else approximate(sizes)

    sizes = looks.sizes(inputs.samples, inputs.looks, inputs.available) if inputs.available else []
    power = passes(sizes) if sizes else None
    needed = _needed(inputs, passes)
    told = "" if power is None else f"; {sizes[-1]:,} give {100 * power:.3g} %"
    wanted = (
        f"no number of samples gives {100 * inputs.power:g} %"
        if needed is None
        else (f"{needed:,} samples give {100 * inputs.power:g} % power")
    )
    return PlanOutput(
        summary=f"{wanted}{told}{f'; fewer than {fewest:,} cannot pass' if fewest else ''}",
        seconds=time.monotonic() - started,
        fewest=fewest,
        needed=needed,
        power=power,
        samples=tuple(sizes),
        method=method,
    )


def _check(inputs: PlanInput) -> None:
    champion, right_or_wrong = inputs.gate == "champion", inputs.spread is None
    if champion and right_or_wrong and inputs.differing is None:
        message = "--differing: is missing; or give --spread, of the differences, for scores other than 0 and 1"
    elif champion and inputs.differing is not None and inputs.differing < abs(inputs.expected):
        message = (
            f"--differing={inputs.differing:g}: models whose metrics differ by {inputs.expected:g} differ more often"
        )
    elif not champion and right_or_wrong and not (0 < inputs.threshold < 1 and 0 <= inputs.expected <= 1):
        message = (
            f"{inputs.expected:g} is expected, where {inputs.threshold:g} must be reached: shares of correct "
            "predictions lie between 0 and 1; for other scores give --spread"
        )
    else:
        return
    raise StepError(ExitCode.USAGE, message)


def _power(inputs: PlanInput) -> tuple[Callable[[Sequence[int]], float], str]:
    """The probability of passing as a function of the looks' samples, and how it is computed."""
    from argosy.steps.gate import power

    threshold, expected, confidence = inputs.threshold, inputs.expected, inputs.confidence
    simulated = f"{power.SIMULATED:,} simulated evaluations"
    several = inputs.looks > 1
    spread = max(_spread(inputs) * _design_effect(inputs) ** 0.5, 1e-12)

    def of_mean(sizes: Sequence[int]) -> float:
        return power.of_mean(_of_slice(sizes, inputs), expected - threshold, spread, confidence) ** inputs.slices

    def of_clusters(sizes: Sequence[int]) -> float:
        each = _of_slice(sizes, inputs)
        if each[-1] > power.MOST_CLUSTERS * inputs.cluster_size:
            return of_mean(sizes)
        clusters = power.Clusters(inputs.cluster_size, inputs.correlation)
        return power.of_clusters(each, clusters, threshold, expected, confidence) ** inputs.slices

    if inputs.spread is not None or inputs.gate == "champion":
        return of_mean, f"normal approximation, {simulated}" if several else "normal approximation"
    if inputs.cluster_size > 1:
        many = f"normal approximation of more than {power.MOST_CLUSTERS} clusters"
        return of_clusters, f"{power.SIMULATED_CLUSTERED} simulated evaluations; {many}"
    if inputs.slices > 1:
        how = simulated if several else "exact binomial"
        return lambda sizes: power.of_slices(sizes, inputs.slices, threshold, expected, confidence), how
    return lambda sizes: power.of_proportion(sizes, threshold, expected, confidence), "exact binomial"


def _of_slice(sizes: Sequence[int], inputs: PlanInput) -> list[int]:
    """Samples that each slice has in each look."""
    return [max(size // inputs.slices, 1) for size in sizes]


def _spread(inputs: PlanInput) -> float:
    """Standard deviation of a sample's score, or of a difference."""
    if inputs.spread is not None:
        return inputs.spread
    second = inputs.expected if inputs.gate != "champion" else inputs.differing or 0
    return math.sqrt(second - inputs.expected**2)


def _design_effect(inputs: PlanInput) -> float:
    """How many samples in clusters tell as much as one on its own: Kish, Survey Sampling (1965), section 5.4."""
    return 1 + (inputs.cluster_size - 1) * inputs.correlation


def _needed(inputs: PlanInput, passes: Callable[[Sequence[int]], float]) -> int | None:
    """Samples of all looks together that give the wanted power.

    It grows with them, but for the steps of whole successes: one sample fewer gives less than wanted.
    """
    doublings: int = 2 ** (inputs.looks - 1)

    def suffices(first: int) -> bool:
        return passes([first << look for look in range(inputs.looks)]) >= inputs.power

    if inputs.expected <= inputs.threshold:
        return None
    high = 1
    while not suffices(high):
        high *= 2
        if high * doublings > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high * doublings


def _fewest(inputs: PlanInput) -> int | None:
    """Samples at which the best of results passes, in the last look. None: a champion's margin of 0 has no such."""
    from scipy.special import ndtri

    from argosy.steps.gate import bootstrap, looks
    from argosy.steps.gates import requests_needed

    own = looks.each(inputs.confidence, inputs.looks)
    if inputs.spread is not None or inputs.cluster_size > 1:
        return math.ceil(bootstrap.FEWEST_CLUSTERS * inputs.cluster_size) * inputs.slices
    if inputs.gate != "champion":
        return requests_needed(inputs.threshold, own) * inputs.slices
    # Tango's lower bound where no sample differs is - z^2 / (n + z^2).
    return math.ceil(float(ndtri(own)) ** 2 * (-1 / inputs.threshold - 1)) if inputs.threshold < 0 else None


if __name__ == "__main__":
    sys.exit(program.main("argosy.steps.gate.plan", PlanInput, run, sys.argv[1:]))
