"""What argosy's own loop makes of the losses and accuracies that it sees."""

import statistics
from collections import deque
from collections.abc import Callable
from typing import Any

from argosy.steps.errors import StepError
from argosy.steps.train.poll import Losses

WINDOW = 100
"""Steps whose median a loss is compared with."""
FEWEST = 20
"""Steps before which no loss is a spike: the first ones fall fast."""


class EpochLoss:
    """Mean loss over the samples of the current epoch."""

    def __init__(self, steps: int) -> None:
        """`steps`: of an epoch."""
        self._steps = steps
        self._sum, self._samples = 0.0, 0

    @property
    def mean(self) -> float:
        return self._sum / max(1, self._samples)

    def add(self, losses: Losses) -> None:
        if (losses.step - 1) % self._steps == 0:
            self._sum, self._samples = 0.0, 0
        if losses.mean is not None:
            self._sum += losses.mean * losses.samples
            self._samples += losses.samples

    def state_dict(self) -> dict[str, Any]:
        return {"sum": self._sum, "samples": self._samples}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self._sum, self._samples = state["sum"], state["samples"]


class Spikes:
    """Ends a training whose loss leaps."""

    def __init__(self, factor: float | None, spoiled: Callable[[str], StepError]) -> None:
        """`factor`: of the median, from which a loss is a spike; none: nothing is. `spoiled` makes what is raised."""
        self._factor, self._spoiled = factor, spoiled
        self._losses: deque[float] = deque(maxlen=WINDOW)

    def add(self, losses: Losses) -> None:
        """Raises StepError (CODE) for a spike."""
        if self._factor is None or losses.mean is None:
            return
        if len(self._losses) >= FEWEST:
            median = statistics.median(self._losses)
            if 0 < median * self._factor <= losses.mean:
                raise self._spoiled(
                    f"loss is {losses.mean:.4g} at step {losses.step}, {losses.mean / median:.1f} times the median of "
                    f"the {len(self._losses)} steps before"
                )
        self._losses.append(losses.mean)

    def state_dict(self) -> dict[str, Any]:
        return {"losses": list(self._losses)}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self._losses = deque(state["losses"], maxlen=WINDOW)


class Looks:
    """Accuracies on the validation split, each after so many steps."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._accuracies: list[float] = []

    def add(self, step: int, accuracy: float) -> None:
        self._steps.append(step)
        self._accuracies.append(accuracy)

    @property
    def best_step(self) -> int:
        """The first of those with the best accuracy."""
        return self._steps[self._accuracies.index(max(self._accuracies))]

    @property
    def last_step(self) -> int:
        return self._steps[-1]

    def has(self, step: int) -> bool:
        return step in self._steps

    def accuracy(self, step: int) -> float:
        return self._accuracies[self._steps.index(step)]

    def are_enough(self, patience: int) -> bool:
        """Whether none of the last `patience` looks was better than all before; 0: they never are."""
        if not patience or not self._steps:
            return False
        return len(self._steps) - 1 - self._steps.index(self.best_step) >= patience

    def state_dict(self) -> dict[str, Any]:
        return {"steps": list(self._steps), "accuracies": list(self._accuracies)}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self._steps, self._accuracies = list(state["steps"]), list(state["accuracies"])
