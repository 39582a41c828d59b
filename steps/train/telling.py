"""How a training says how it goes: a line for a person, and metrics for MLflow."""

import time
from collections.abc import Mapping

from torch import Tensor

from argosy.steps.progress import Progress
from argosy.steps.train.pace import Pace
from argosy.steps.train.poll import Losses
from argosy.steps.train.surroundings import Surroundings


class Telling:
    """The first rank's; the others are silent."""

    def __init__(self, around: Surroundings, pace: Pace) -> None:
        self._metrics, self._begun, self._pace = around.metrics, around.begun, pace
        self._is_first = around.world.rank == 0
        self._progress = Progress(0)
        self.loss: float | None = None
        """Of the last step, as far as it is known."""
        self._stalled = 0.0

    def settled(self, losses: Losses) -> None:
        if losses.mean is not None:
            self.loss = losses.mean

    def stepped(
        self, step: int, total: int, *, seconds: float, stalled: float, measured: Mapping[str, Tensor | float]
    ) -> None:
        """`stalled`: seconds that all steps have waited for checkpoints."""
        if not self._is_first:
            return
        if self._progress.total != total:
            self._progress = Progress(total)
        self._progress.report(step, lambda: self._line(step, total))
        if self._metrics is not None:
            self._metrics.add(step, {**self._own(seconds, stalled), **measured})

    def amended(self, step: int, measured: Mapping[str, Tensor | float]) -> None:
        """What an attempt before has not measured any more of this step."""
        if self._metrics is not None:
            self._metrics.add(step, measured)

    def close(self, step: int, *, finished: bool) -> None:
        if self._metrics is not None:
            self._metrics.close(step, finished=finished)

    def _own(self, seconds: float, stalled: float) -> dict[str, float]:
        own = {
            "step_seconds": seconds,
            "checkpoint_stall_seconds": stalled - self._stalled,
            "goodput": self._pace.seconds / max(time.time() - self._begun, 1e-9),
        }
        self._stalled = stalled
        if self.loss is not None:
            own["loss"] = self.loss
        if (rate := self._pace.samples_per_second) is not None:
            own["samples_per_second"] = rate
        return own

    def _line(self, step: int, total: int) -> str:
        loss = "" if self.loss is None else f", loss {self.loss:.4f}"
        rate = self._pace.samples_per_second
        return f"step {step:,}/{total:,}{loss}" + ("" if rate is None else f", {rate:,.0f} samples/s")
