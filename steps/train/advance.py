"""One optimiser step of argosy's own loop."""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from argosy.steps import task, usercode
from argosy.steps.contracts import Loop
from argosy.steps.errors import configuration_error
from argosy.steps.task import Task
from argosy.steps.train.data.batch import Batch

COMPILERS = ("c++", "g++", "clang++")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Advance:
    """Forward, backward and the optimiser, as the loop's settings say."""

    def __init__(
        self, user_task: Task, model: nn.Module, optimizer: Optimizer, loop: Loop, device: torch.device
    ) -> None:
        """Raises StepError (CONFIGURATION) where nothing can compile the model."""
        self._task, self._optimizer, self._loop, self._device = user_task, optimizer, loop, device
        self.parallel = DistributedDataParallel(_compiled(model) if loop.compile else model)
        self.scaler = torch.amp.GradScaler(device.type, enabled=loop.precision == "float16")
        self._is_judged = False

    def step(self, batch: Batch) -> Tensor:
        """The rank's loss, weighted so that its mean over the ranks is that over all samples."""
        self._optimizer.zero_grad()
        inputs, targets = (tensor.to(self._device, non_blocking=True) for tensor in (batch.inputs, batch.targets))
        total = torch.zeros((), device=self._device)
        for part, is_last in _parts(len(inputs), self._loop.accumulation):
            with nullcontext() if is_last else self.parallel.no_sync():
                loss = self._loss(inputs[part], targets[part]) * (batch.weight * (part.stop - part.start) / len(inputs))
                self.scaler.scale(loss).backward()
            total += loss.detach()
        if self._loop.clip_norm is not None:
            self.scaler.unscale_(self._optimizer)
            nn.utils.clip_grad_norm_(self.parallel.parameters(), self._loop.clip_norm)
        self.scaler.step(self._optimizer)
        self.scaler.update()
        return total

    def _loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        with self._autocast():
            outputs = output_of(self.parallel, self._task, inputs)
            loss = task.loss(self._task, outputs, targets)
        if not self._is_judged:
            # A wrong judgement should be known now, and not after the last epoch.
            task.correct(self._task, outputs.detach(), targets)
            self._is_judged = True
        return loss

    def _autocast(self) -> AbstractContextManager[object]:
        if self._loop.precision == "float32":
            return nullcontext()
        return torch.autocast(self._device.type, DTYPES[self._loop.precision])


def output_of(model: nn.Module, user_task: Task, inputs: Tensor) -> Tensor:
    """What the model gives; an error of its own says where the model is from."""
    try:
        outputs: Tensor = model(inputs)
    except Exception as error:
        error.add_note(f"in what {usercode.place(user_task.model)} gave, for inputs of shape {tuple(inputs.shape)}")
        raise
    return outputs


def _parts(samples: int, count: int) -> Iterator[tuple[slice, bool]]:
    """As many slices as there are samples for, of sizes that differ by one at most; whether each is the last."""
    count = min(count, samples)
    for number in range(count):
        yield slice(samples * number // count, samples * (number + 1) // count), number == count - 1


def _compiled(model: nn.Module) -> nn.Module:
    if "CXX" not in os.environ and not any(map(shutil.which, COMPILERS)):
        raise configuration_error(
            "compile: torch.compile needs a C++ compiler, and there is none here; install g++, or train without compile"
        )
    return cast("nn.Module", torch.compile(model))
