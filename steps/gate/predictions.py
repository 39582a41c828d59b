"""What models predict for a split's samples: each is read once, and only as many as a gate looks at."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from argosy.steps import task
from argosy.steps.gate.exported import Exported
from argosy.steps.gate.scores import Scores
from argosy.steps.gate.split import JudgedSplit
from argosy.steps.task import Task


class Predictions:
    """Of several models on the same samples, judged by one metric.

    `cluster` is the place among the split's labels of the one by which samples belong together; None: none does.
    """

    def __init__(self, models: Sequence[Exported], split: JudgedSplit, metric: str, cluster: int | None) -> None:
        self._split, self._cluster = split, cluster
        self._of = [_Model(model, split.task, metric) for model in models]
        self._labels: list[tuple[tuple[str, ...], ...]] = []
        self._count = 0

    def upto(self, count: int) -> list[Scores]:
        """Each model's scores for the first samples in the order of judging."""
        for batch in self._split.batches(self._count, count):
            for model in self._of:
                model.judge(batch.samples.inputs, batch.samples.targets)
            self._labels.append(batch.labels)
        self._count = max(self._count, count)
        clusters = np.arange(count) if self._cluster is None else _numbered(self.labels(self._cluster)[:count])
        return [model.scores(count, clusters) for model in self._of]

    def labels(self, which: int) -> list[str]:
        """Of all samples so far, the label at this place among the split's."""
        return [label for batch in self._labels for label in batch[which]]


def _numbered(labels: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)


class _Model:
    """What one model has predicted, as far as the metric needs it."""

    def __init__(self, model: Exported, task: Task, metric: str) -> None:
        self._model, self._task, self._metric = model, task, metric
        self._is_whole: bool | None = None
        self._each: list[Tensor] = []
        self._outputs: list[Tensor] = []
        self._targets: list[Tensor] = []
        self._broken: list[Tensor] = []

    def judge(self, inputs: Tensor, targets: Tensor) -> None:
        outputs = self._model.request(inputs).cpu()
        self._broken.append(~outputs.isfinite().reshape(len(outputs), -1).all(dim=1))
        if self._is_whole is None:
            self._is_whole = self._metric != "correct" and self._has_no_parts(outputs, targets)
        if self._is_whole:
            self._outputs.append(outputs)
            self._targets.append(targets)
        else:
            self._each.append(task.metric(self._task, self._metric, outputs, targets))

    def _has_no_parts(self, outputs: Tensor, targets: Tensor) -> bool:
        return task.metric(self._task, self._metric, outputs, targets).shape == ()

    def scores(self, count: int, clusters: NDArray[np.int64]) -> Scores:
        broken = torch.cat(self._broken)[:count]
        if self._is_whole:
            outputs, targets = torch.cat(self._outputs)[:count], torch.cat(self._targets)[:count]

            def of(indices: NDArray[np.int64]) -> float:
                chosen = torch.from_numpy(indices)
                return float(task.metric(self._task, self._metric, outputs[chosen], targets[chosen]))

            return Scores(of, None, right_or_wrong=False, clusters=clusters, broken=int(broken.sum()))
        scores = torch.cat(self._each)[:count]
        each = scores.double().numpy()
        return Scores(
            lambda indices: float(each[indices].mean()),
            each,
            right_or_wrong=scores.dtype == torch.bool,
            clusters=clusters,
            broken=int((broken | ~scores.isfinite()).sum()),
        )
