"""What a session keeps in checkpoints, and when."""

import time
from collections.abc import Mapping
from contextlib import suppress

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train import parts
from argosy.steps.train.checkpoints import Stateful
from argosy.steps.train.surroundings import Surroundings


class Keeper:
    """Checkpoints of a training, or none where nothing keeps them."""

    def __init__(self, around: Surroundings, own: Mapping[str, Stateful]) -> None:
        self._around, self._checkpoints = around, around.checkpoints
        self._own = own
        self._given: dict[str, object] = {}
        self._saved_step = 0
        self.stall_seconds = 0.0
        """Time that steps have waited for checkpoints."""

    @property
    def save_seconds(self) -> float:
        return self._checkpoints.save_seconds if self._checkpoints else 0.0

    def resume(self, given: dict[str, object]) -> int:
        """Raises StepError (USAGE) for a part that has no state."""
        self._given = given
        held = self._parts()
        if self._checkpoints is None:
            return 0
        self._saved_step = self._checkpoints.resume(held)
        return self._saved_step

    def take_best(self, given: dict[str, object]) -> int:
        if self._checkpoints is None:
            return 0
        self._checkpoints.finish()
        return self._checkpoints.restore_best(parts.wrapped(given))

    def is_due(self) -> bool:
        """On the first rank, which decides for all."""
        return bool(self._checkpoints and self._around.world.rank == 0 and self._around.interval.due(time.monotonic()))

    def save(self, step: int, metric: float | None) -> None:
        """Raises StepError (CODE) rather than keep weights that are no finite numbers."""
        if self._checkpoints is None or step == self._saved_step:
            return
        if not self._given:
            raise StepError(
                ExitCode.CODE, "session.resume(model=..., optimizer=...) was not called: there is nothing to keep"
            )
        self._around.signs.rest("save")
        began = time.monotonic()
        self._refuse_non_finite(step)
        self._checkpoints.save(step, self._parts(), metric=metric)
        ended = time.monotonic()
        self._around.signs.work()
        self._saved_step = step
        self.stall_seconds += ended - began
        self._around.interval.saved(ended, ended - began, self._checkpoints.save_seconds)

    def amend(self, step: int, metric: float) -> None:
        """The checkpoint that was resumed from, at this step, has this metric."""
        self._saved_step = 0
        self.save(step, metric)

    def finish(self) -> None:
        """What was saved counts when this returns."""
        if self._checkpoints is not None:
            self._around.signs.rest("save")
            self._checkpoints.finish()

    def spoiled(self, what: str) -> StepError:
        """The training has gone wrong on all ranks alike. What was kept before counts, and nothing of this is kept."""
        with suppress(StepError):
            self.finish()
        step = self._checkpoints.committed if self._checkpoints else 0
        last = f"last checkpoint {step} is from before" if step else "there is no checkpoint from before"
        return StepError(ExitCode.CODE, f"{what}; lower the learning rate, or clip gradients; {last}")

    def _parts(self) -> dict[str, Stateful]:
        return {**parts.wrapped(self._given), **self._own}

    def _refuse_non_finite(self, step: int) -> None:
        (wrong,) = self._around.world.summed(not parts.are_finite(self._given))
        if wrong:
            raise self.spoiled(f"weights are no finite numbers after step {step}")
