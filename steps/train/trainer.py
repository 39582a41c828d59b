"""The training loop of one rank."""

import threading
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from argosy.steps import task, usercode
from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.progress import Progress
from argosy.steps.samples import Samples
from argosy.steps.task import Task
from argosy.steps.train.checkpoints import Checkpoints
from argosy.steps.train.data import Batches, seed_generators
from argosy.steps.train.world import World


class Trainer:
    """The state of a training: model, optimiser, and a position in the data."""

    def __init__(
        self, inputs: TrainInput, user_task: Task, samples: Samples, world: World, checkpoints: Checkpoints
    ) -> None:
        self._inputs, self._task, self._samples, self._world = inputs, user_task, samples, world
        self._checkpoints = checkpoints
        given = user_task.hyperparameters
        self._batches = Batches(len(samples), given.batch_size, given.epochs, inputs.seed)
        seed_generators(inputs.seed, "model")
        self.model = user_task.model().to(world.device)
        self._optimizer = user_task.optimizer(self.model.parameters())
        self._step = self.resumed_at = 0
        self._epoch_loss = self._seconds = 0.0
        self._epoch_samples = self._trained = 0

    @property
    def step(self) -> int:
        return self._step

    @property
    def is_finished(self) -> bool:
        return self._step == self._batches.total

    @property
    def loss(self) -> float:
        """Mean over the current epoch."""
        return self._epoch_loss / max(1, self._epoch_samples)

    @property
    def samples_per_second(self) -> float:
        """Of all attempts together."""
        return self._trained / max(self._seconds, 1e-9)

    def resume(self) -> None:
        """Goes to the newest checkpoint, if there is one."""
        step = self._world.agreed(self._checkpoints.newest() if self._world.rank == 0 else 0)
        if not step:
            return
        state = self._checkpoints.load(step)
        if state["dataset_hash"] != self._inputs.dataset_hash:
            raise configuration_error(
                f"checkpoint of step {step}: was trained on data {state['dataset_hash']} and not "
                f"{self._inputs.dataset_hash}; give another --run"
            )
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._step = self.resumed_at = step
        self._epoch_loss, self._epoch_samples = state["epoch_loss"], state["epoch_samples"]
        self._trained, self._seconds = state["trained"], state["seconds"]

    def train(self, stop: threading.Event) -> None:
        """Goes on to the end, or until any rank is asked to stop; a checkpoint is left either way."""
        parallel = DistributedDataParallel(self.model)
        progress = Progress(self._batches.total)
        saved_at = mark = time.monotonic()
        self.model.train()
        while not self.is_finished:
            loss, count = self._advance(parallel)
            due = self._world.rank == 0 and time.monotonic() - saved_at >= self._inputs.checkpoint_every_seconds
            total, save, stopped = self._world.summed(loss, due, stop.is_set())
            self._count(total, count, time.monotonic() - mark)
            mark = time.monotonic()
            if self._world.rank == 0:
                progress.report(self._step, self._line)
            if save or stopped or self.is_finished:
                self._save()
                saved_at = time.monotonic()
            if stopped:
                return

    def validated(self, samples: Samples) -> float:
        """Share of these samples that are predicted correctly; every rank judges its part."""
        self.model.eval()
        mine = torch.arange(self._world.rank, len(samples), self._world.size)
        size = self._task.hyperparameters.batch_size
        correct = 0
        with torch.inference_mode():
            for start in range(0, len(mine), size):
                indices = mine[start : start + size]
                outputs = self._outputs(self.model, samples.inputs[indices])
                targets = samples.targets[indices].to(self._world.device)
                correct += int(task.correct(self._task, outputs, targets).sum())
        return self._world.summed(correct)[0] / len(samples)

    def _advance(self, parallel: DistributedDataParallel) -> tuple[float, int]:
        """One optimiser step. This rank's sum of losses, and the samples of all ranks."""
        world, batch = self._world, self._batches.at(self._step)
        seed_generators(self._inputs.seed, "step", self._step, world.rank)
        mine = batch[world.rank :: world.size]
        # DDP takes the mean over ranks, and the ranks' parts of a batch can differ in size. A rank without a part
        # joins in with a sample that does not count.
        weight = len(mine) * world.size / len(batch)
        indices = mine if len(mine) else batch[:1]
        outputs = self._outputs(parallel, self._samples.inputs[indices])
        targets = self._samples.targets[indices].to(world.device)
        loss = task.loss(self._task, outputs, targets)
        self._optimizer.zero_grad()
        (loss * weight).backward()  # type: ignore[no-untyped-call] # torch leaves it without types
        self._optimizer.step()
        if self._step == self.resumed_at:
            # A wrong one should be known now, not after the last epoch. The next step seeds all generators anew.
            task.correct(self._task, outputs.detach(), targets)
        return loss.item() * len(mine), len(batch)

    def _outputs(self, model: nn.Module, inputs: Tensor) -> Tensor:
        try:
            outputs: Tensor = model(inputs.to(self._world.device))
        except Exception as error:
            error.add_note(
                f"in what {usercode.place(self._task.model)} gave, for inputs of shape {tuple(inputs.shape)}"
            )
            raise
        return outputs

    def _count(self, loss: float, count: int, seconds: float) -> None:
        if not torch.isfinite(torch.tensor(loss)):
            raise StepError(
                ExitCode.CODE,
                f"{self._inputs.task}: the loss is {loss} at step {self._step + 1}; lower the learning rate",
            )
        if self._batches.begins_epoch(self._step):
            self._epoch_loss, self._epoch_samples = 0.0, 0
        self._epoch_loss += loss
        self._epoch_samples += count
        self._trained += count
        self._seconds += seconds
        self._step += 1

    def _save(self) -> None:
        if self._world.rank == 0:
            self._checkpoints.save(self._step, self._state())

    def _state(self) -> dict[str, Any]:
        return {
            "dataset_hash": self._inputs.dataset_hash,
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "epoch_loss": self._epoch_loss,
            "epoch_samples": self._epoch_samples,
            "trained": self._trained,
            "seconds": self._seconds,
        }

    def _line(self) -> str:
        rate = f"{self.samples_per_second:,.0f} samples/s"
        return f"step {self._step:,}/{self._batches.total:,}, loss {self.loss:.4f}, {rate}"
