"""The reference task, slow or with a fault: a part of the digits project in the cluster."""

import os
import time

from torch import Tensor, nn

from argosy.steps.digits import Digits

STEP_SECONDS = 0.05
GOOD_STEPS = 40
EATEN_MIB = 700


class Slow(Digits):
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        time.sleep(STEP_SECONDS)
        return super().loss(outputs, targets)


class Raising(Slow):
    """Its last rank fails in the middle, the others do not."""

    calls = 0

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.calls += 1
        if self.calls > GOOD_STEPS and int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:
            raise ValueError("no such label: 11")
        return super().loss(outputs, targets)


class Greedy(Digits):
    def model(self) -> nn.Module:
        self.eaten = b"x" * (EATEN_MIB << 20)
        return super().model()
