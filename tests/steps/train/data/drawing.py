"""A task whose samples say which they are and what was drawn for them. Loader workers import this module too."""

import os
import random
import signal

import numpy as np
import torch


class Drawing:
    """A sample: its number and three draws; its target: its number."""

    def sample(self, members):
        number = int(members["cls"])
        draws = [torch.rand(1).item(), random.random(), np.random.rand()]  # noqa: NPY002 - as augmentations draw
        return torch.tensor([float(number), *draws], dtype=torch.float64), torch.tensor(number)


class Tracked(Drawing):
    """Its inputs carry a gradient, as those of a task that applies a layer do."""

    def sample(self, members):
        inputs, target = super().sample(members)
        return inputs.requires_grad_(), target


class Failing(Drawing):
    """Fails at sample 7, as it is told."""

    def __init__(self, how):
        self.how = how

    def sample(self, members):
        if members["cls"] == b"7":
            self.fail()
        return super().sample(members)

    def fail(self):
        if self.how == "refuse":
            raise ValueError("is too blue")
        if self.how == "raise":
            raise KeyError("boom")
        if self.how == "unsendable":
            raise UnsendableError(1, 2)
        if self.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)


class UnsendableError(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")
