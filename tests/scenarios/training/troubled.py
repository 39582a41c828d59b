"""A task of which one rank gets into trouble, after so many steps."""

import os
import signal
import time

from recorded import Recorded, Setting


class Hyperparameters(Setting):
    trouble: str
    at: int = 20


class Troubled(Recorded):
    Hyperparameters = Hyperparameters

    def loss(self, outputs, targets):
        loss = super().loss(outputs, targets)
        if os.environ["RANK"] == "1" and self.made == self.hyperparameters.at:
            return globals()[self.hyperparameters.trouble](loss)
        return loss


def hang(_loss):
    while True:
        time.sleep(0.05)


def vanish(_loss):
    os.kill(os.getpid(), signal.SIGKILL)


def nan(loss):
    return loss * float("nan")
