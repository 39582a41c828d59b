"""argosy's own loop: a task, trained on its data."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from argosy.steps import task
from argosy.steps.contracts import TrainInput
from argosy.steps.train import parts
from argosy.steps.train.advance import Advance, output_of
from argosy.steps.train.data.batch import Batch
from argosy.steps.train.data.evaluation import evaluation, rounds
from argosy.steps.train.data.feed import Feed
from argosy.steps.train.data.loader import Loader
from argosy.steps.train.data.seeding import seed_generators
from argosy.steps.train.data.stream import Stream
from argosy.steps.train.schedule import Schedule
from argosy.steps.train.session import Session
from argosy.steps.train.watching import EpochLoss, Looks, Spikes


class Trainer:
    """All that a training has, but for the session that keeps it."""

    def __init__(self, session: Session, inputs: TrainInput) -> None:
        """Raises StepError (DATA) for data that is not as it should be."""
        self._session, self._inputs, self._loop, self._task = session, inputs, inputs.loop, session.task
        self._validation = session.dataset("validation")
        self._loader = _loader(session, inputs)
        seed_generators(inputs.seed, "model")
        self._model = self._task.model().to(session.device)
        optimizer = self._task.optimizer(self._model.parameters())
        self._schedule = Schedule(optimizer, self._loop, self._loader.total)
        self._advance = Advance(self._task, self._model, optimizer, self._loop, session.device)
        self._average = _average(self._model, self._loop.average)
        self._epoch, self._looks = EpochLoss(self._loader.per_epoch), Looks()
        self._spikes = Spikes(self._loop.spike, session.spoiled)
        self._weights = {"model": self._advance.parallel} | ({"average": self._average} if self._average else {})
        self._others = {
            "optimizer": optimizer,
            "scaler": self._advance.scaler,
            "epoch": self._epoch,
            "looks": self._looks,
            "spikes": self._spikes,
        }

    def train(self) -> None:
        """From the newest checkpoint to the end, and a model. Ends the process when asked to stop. Raises StepError."""
        self._session.watch(self._epoch.add)
        self._session.watch(self._spikes.add)
        self._go_on(self._session.resume(**self._weights, **self._others))
        accuracy = self._best()
        self._session.export(self._judged, self._sample(), loss=self._epoch.mean, validation_accuracy=accuracy)

    @property
    def _judged(self) -> nn.Module:
        """What is evaluated and exported."""
        return parts.bare(self._average or self._model)

    def _go_on(self, first: int) -> None:
        self._model.train()
        if first and self._is_looked_at(first) and not self._looks.has(first):
            self._look_after_all(first)
        batches = self._loader.batches(first)
        for step in self._session.steps(self._loader.total):
            if self._looks.are_enough(self._loop.patience):
                break
            self._step(step, batches)

    def _step(self, step: int, batches: Iterator[Batch]) -> None:
        waited = self._loader.waited
        batch = next(batches)
        measured = {"learning_rate": self._schedule.apply(step), "data_wait_seconds": self._loader.waited - waited}
        seed_generators(self._inputs.seed, "step", step, self._session.rank)
        loss = self._advance.step(batch)
        if self._average is not None:
            self._average.update_parameters(self._model)
        if self._is_looked_at(step + 1):
            accuracy = self._look(step + 1)
            if accuracy is not None:
                measured["validation_accuracy"] = accuracy
                self._session.keep(accuracy)
        self._session.report(loss=loss, samples=batch.samples, **measured)

    def _is_looked_at(self, step: int) -> bool:
        """Whether the model is judged after so many steps."""
        epochs, rest = divmod(step, self._loader.per_epoch)
        every = self._loop.evaluate_every_epochs
        return step == self._loader.total or (every > 0 and rest == 0 and epochs % every == 0)

    def _look_after_all(self, step: int) -> None:
        """At the model of a checkpoint, where a stop had cut the look short."""
        accuracy = self._look(step)
        if accuracy is None:
            self._session.leave()
        self._session.amend(accuracy, validation_accuracy=accuracy)

    def _look(self, step: int) -> float | None:
        """None: a stop has cut it short."""
        with self._session.aside("evaluate"):
            accuracy = self._accuracy()
        if accuracy is not None:
            self._looks.add(step, accuracy)
        return accuracy

    def _accuracy(self) -> float | None:
        """Share of validation samples that are predicted correctly; every rank judges its part."""
        for module in self._weights.values():
            parts.share_buffers(module)
        self._judged.eval()
        with torch.inference_mode():
            correct = self._correct()
        self._judged.train()
        return None if correct is None else self._session.summed(correct) / len(self._validation)

    def _correct(self) -> int | None:
        """Of this rank's part of the samples."""
        session, size, correct = self._session, self._task.hyperparameters.batch_size, 0
        batches = evaluation(self._task, self._validation, session.rank, session.size, size)
        for _ in range(rounds(self._validation, session.size, size)):
            if session.is_asked_to_stop():
                return None
            for inputs, targets in islice(batches, 1):
                outputs = output_of(self._judged, self._task, inputs.to(session.device))
                correct += int(task.correct(self._task, outputs, targets.to(session.device)).sum())
        return correct

    def _best(self) -> float:
        """The best model seen is the one that is exported. Its accuracy."""
        looks, step = self._looks, self._looks.last_step
        if looks.best_step != step:
            step = self._session.take_best(**self._weights) or step
        return looks.accuracy(step)

    def _sample(self) -> Tensor:
        inputs, _ = next(evaluation(self._task, self._validation, 0, 1, 1))
        return inputs[0]


def _loader(session: Session, inputs: TrainInput) -> Feed:
    given = session.task.hyperparameters
    make: Callable[..., Feed] = partial(Stream, session.task, session.data, "train")
    if not inputs.streaming:
        make = partial(Loader, session.task, session.dataset("train"))
    return make(
        batch_size=given.batch_size,
        epochs=given.epochs,
        seed=inputs.seed,
        rank=session.rank,
        size=session.size,
        workers=inputs.loader_workers,
    )


def _average(model: nn.Module, decay: float) -> AveragedModel | None:
    if not decay:
        return None
    rule = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call] # torch leaves it without types
    return AveragedModel(model, multi_avg_fn=rule)
