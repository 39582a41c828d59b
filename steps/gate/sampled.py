"""What gates on a split's samples have in common: the looks they take, and the words for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from argosy.steps import staged
from argosy.steps.gate import looks, order
from argosy.steps.gate.exported import Exported
from argosy.steps.gate.interval import Interval
from argosy.steps.gate.predictions import Predictions
from argosy.steps.gate.scores import Scores
from argosy.steps.gate.split import JudgedSplit
from argosy.steps.gate.verdict import AT_LEAST, Measurement
from argosy.steps.gates import SampledInput


class Sampling:
    """Models on a split, of which a gate looks at ever more samples until it can decide."""

    def __init__(self, inputs: SampledInput, split: JudgedSplit, predictions: Predictions) -> None:
        self._inputs, self._predictions = inputs, predictions
        self.seed = order.seed(inputs.dataset_hash, "resampling")
        self._sizes = looks.sizes(inputs.samples, inputs.looks, len(split))

    @property
    def most(self) -> int:
        """Samples of the last look."""
        return self._sizes[-1]

    def looked(self, threshold: float, measure: Callable[[list[Scores], float], Measurement]) -> Measurement:
        """What the first look that decides says, else the last; `measure` takes all models' scores, a confidence."""
        return looks.taken(
            self._sizes,
            self._inputs.confidence,
            threshold,
            AT_LEAST,
            lambda count, confidence: measure(self._predictions.upto(count), confidence),
        )

    def labels(self, which: int) -> list[str]:
        """Of all samples so far: the first of the gate's own labels is 0."""
        return self._predictions.labels(which)


@contextmanager
def sampling(inputs: SampledInput, models: Sequence[Exported], labels: Sequence[str] = ()) -> Iterator[Sampling]:
    """The first of the models says with its task how samples are read. Raises StepError as `JudgedSplit` does."""
    with staged.data(inputs) as folder:
        clusters = [inputs.cluster] if inputs.cluster else []
        split = JudgedSplit(models[0].task, folder, inputs.dataset_hash, inputs.split, [*labels, *clusters])
        cluster = len(labels) if clusters else None
        yield Sampling(inputs, split, Predictions(models, split, inputs.metric, cluster))


def name(inputs: SampledInput) -> str:
    """The metric's, for a person."""
    return "accuracy" if inputs.metric == "correct" else inputs.metric


def conditions(inputs: SampledInput, scores: Scores) -> str:
    """How a metric was measured."""
    n = len(scores)
    if scores.broken:
        return f"outputs of {scores.broken} of {n} samples hold NaN or infinity"
    return f"n = {n}" + (f" in {len(set(scores.clusters.tolist()))} of {inputs.cluster}" if inputs.cluster else "")


def advice(interval: Interval) -> str:
    """What would decide where the bounds do not."""
    return interval.lacks or "more samples would tell"
