"""What to ask about a gate, to learn how many samples it needs: the input of `argosy.steps.gate.plan`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from argosy.pipelines.gates import CORRECT, Accuracy, Gate, NotWorseThanChampion, Sampled, Slices
from argosy.pipelines.serving_gates import Latency


@dataclass(frozen=True)
class Expectations:
    """What whoever plans knows of the models that will be judged, and of the samples."""

    power: float
    """How often a model as good as expected is to pass."""
    value: float | None = None
    """The metric's value; none: halfway from the threshold to 1."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Gate -> what is expected of it alone."""
    differing: float = 0.1
    """Share of samples of which champion and model get only one right."""
    spread: float | None = None
    """Standard deviation of a sample's score, where that is not 0 or 1."""
    slices: int | None = None
    cluster_size: float | None = None
    """Samples of a cluster, on average."""
    correlation: float = 0.3
    """Of the scores within a cluster."""
    samples: Mapping[str, int] = field(default_factory=dict)
    """Split -> how many there are."""


class NothingToPlan(Exception):  # noqa: N818 - an answer, named for what it says
    """Why no number of samples can be planned."""


def question(gate: Gate, known: Expectations) -> dict[str, object]:
    """The program's input for a gate. Raises NothingToPlan."""
    if isinstance(gate, Latency):
        expected = known.values.get(gate.name, (1 + gate.quantile) / 2)
        asked: dict[str, object] = {"gate": "latency", "threshold": gate.quantile, "expected": expected}
        most = gate.requests << (gate.looks - 1)
        return asked | _common(gate, known) | {"samples": gate.requests, "looks": gate.looks, "available": most}
    if not isinstance(gate, Sampled):
        raise NothingToPlan("measures the model itself: it needs no samples")
    asked = _compared(gate, known) | _common(gate, known)
    if gate.metric != CORRECT and known.spread is None:
        raise NothingToPlan(f"{gate.metric} is no share: --spread tells the standard deviation of a sample's score")
    asked |= {"spread": known.spread} if gate.metric != CORRECT else {}
    if gate.cluster and known.cluster_size is None:
        raise NothingToPlan(
            f"samples of one {gate.cluster} are not independent: --cluster-size tells how many there are"
        )
    if gate.cluster:
        asked |= {"cluster_size": known.cluster_size, "correlation": known.correlation}
    return asked | {"samples": gate.samples, "looks": gate.looks, "available": known.samples.get(gate.split, 0)}


def _common(gate: Gate, known: Expectations) -> dict[str, object]:
    return {"confidence": gate.confidence, "power": known.power}


def _compared(gate: Sampled, known: Expectations) -> dict[str, object]:
    """Kind, threshold, and what is expected."""
    if isinstance(gate, NotWorseThanChampion):
        expected = known.values.get(gate.name, 0.0)
        differing = {"differing": known.differing} if gate.metric == CORRECT else {}
        return {"gate": "champion", "threshold": -gate.margin, "expected": expected, **differing}
    assert isinstance(gate, Accuracy | Slices)
    halfway = (gate.at_least + 1) / 2 if known.value is None else known.value
    asked: dict[str, object] = {"threshold": gate.at_least, "expected": known.values.get(gate.name, halfway)}
    if isinstance(gate, Accuracy):
        return {"gate": "accuracy", **asked}
    if known.slices is None:
        raise NothingToPlan("how many slices there are is not known; --slices tells it")
    return {"gate": "slices", "slices": known.slices, **asked}
