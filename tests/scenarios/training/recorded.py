"""A task whose ranks write down what they do: a line of JSON for each event, in the file $RECORD.RANK.

{"saving": step}                                  the state is taken for a checkpoint, after this many steps
{"resumed": step}                                 the state of a checkpoint was loaded
{"step": step, "samples": [...], "state": hash}   the step is done; on these samples; weights and optimiser thereafter
"""

import hashlib
import json
import os
import time

import torch
from torch import nn
from torch.nn import functional

from argosy.steps.hyperparameters import Hyperparameters

INPUTS = 6
CLASSES = 4
VALIDATION = 100_000
"""Samples with this number and those beyond are of the validation split."""


class Setting(Hyperparameters):
    step_seconds: float = 0.03
    save_seconds: float = 0.0
    width: int = 16


class Recorded:
    """Learns to tell the number of a sample modulo CLASSES, of noise that depends on the number."""

    Hyperparameters = Setting

    def __init__(self, hyperparameters):
        self.hyperparameters = hyperparameters
        self.made = 0
        """Steps of this attempt."""
        self._samples = []

    def model(self):
        width = self.hyperparameters.width
        layers = nn.Linear(INPUTS, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, CLASSES)
        self._model = nn.Sequential(*layers)
        return self._model

    def optimizer(self, parameters):
        optimizer = torch.optim.AdamW(parameters, lr=0.01)
        if "RECORD" in os.environ:
            self._log = os.open(f"{os.environ['RECORD']}.{os.environ['RANK']}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            optimizer.register_step_post_hook(self._stepped)
            optimizer.register_state_dict_pre_hook(self._saving)
            optimizer.register_load_state_dict_post_hook(lambda loaded: self._say(resumed=_steps(loaded)))
        return optimizer

    def sample(self, members):
        if "cls" not in members:
            raise ValueError("has no member 'cls'")
        number = int(members["cls"])
        if number < VALIDATION:
            self._samples.append(number)
        noise = torch.randn(INPUTS, generator=torch.Generator().manual_seed(number))
        return noise, torch.tensor(number % CLASSES)

    def loss(self, outputs, targets):
        time.sleep(self.hyperparameters.step_seconds)  # what a larger model would take
        return functional.cross_entropy(outputs, targets)

    def correct(self, outputs, targets):
        return outputs.argmax(dim=1) == targets

    def _stepped(self, optimizer, _words, _named):
        self.made += 1
        tensors = [*self._model.state_dict().values(), *(one[name] for one in _states(optimizer) for name in one)]
        state = hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()[:16]
        self._say(step=_steps(optimizer), samples=self._samples, state=state)
        self._samples = []

    def _saving(self, optimizer):
        if self.made:  # before that, it is a checkpoint's loading that asks what there is
            self._say(saving=_steps(optimizer))
            time.sleep(self.hyperparameters.save_seconds)

    def _say(self, **event):
        os.write(self._log, (json.dumps(event) + "\n").encode())


def _states(optimizer):
    return [optimizer.state[parameter] for group in optimizer.param_groups for parameter in group["params"]]


def _steps(optimizer):
    """As the optimiser counts them, and a checkpoint keeps them."""
    return int(_states(optimizer)[0].get("step", 0))
