"""The learning rate of a step: a function of the step alone, so that a resumed training needs no state of it."""

import math

from torch.optim import Optimizer

from argosy.steps.contracts import Loop


class Schedule:
    def __init__(self, optimizer: Optimizer, loop: Loop, total: int) -> None:
        """`optimizer` has the learning rates that the task gave it; `total`: steps of the whole training."""
        self._optimizer, self._loop, self._total = optimizer, loop, total
        self._full = [float(group["lr"]) for group in optimizer.param_groups]

    def apply(self, step: int) -> float:
        """Sets the learning rates for this step, from 0; the first group's."""
        factor = self.factor(step)
        for group, full in zip(self._optimizer.param_groups, self._full, strict=True):
            group["lr"] = full * factor
        return self._full[0] * factor

    def factor(self, step: int) -> float:
        """Of the full learning rate: up to 1 in the warm-up, then along the schedule."""
        warmup = self._loop.warmup_steps
        if step < warmup:
            return (step + 1) / warmup
        share = (step - warmup) / max(1, self._total - warmup)
        match self._loop.schedule:
            case "linear":
                return 1 - share
            case "cosine":
                return (1 + math.cos(math.pi * share)) / 2
            case "constant":
                return 1.0
