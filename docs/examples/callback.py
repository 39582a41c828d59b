"""A trainer that owns its loop and calls back, as Hugging Face's does: a callback ties it to the session.

`Trainer`, `State` and `Control` stand in for those of `transformers`, with the same names. There, too, the callback is
given as `Trainer(..., callbacks=[Survival(session)])`, and the dataset begins at the step that the session is at.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn import functional

from argosy.steps import samples
from argosy.steps.train.session import Session, joined


class Survival:
    """What ties a trainer to a session: `transformers.TrainerCallback` would be its base."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def on_train_begin(self, state: "State", model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        state.global_step = self._session.resume(model=model, optimizer=optimizer)

    def on_step_end(self, state: "State", control: "Control", logs: dict[str, Tensor]) -> None:
        self._session.report(loss=logs["loss"], samples=BATCH_SIZE)
        control.should_training_stop |= self._session.after_step(state.global_step, state.max_steps)


class Batches(torch.utils.data.IterableDataset[tuple[Tensor, Tensor]]):
    """The batches of all steps that are left: each is drawn from the seed and the step alone."""

    def __init__(self, session: Session, whole: samples.Samples) -> None:
        self._session, self._whole = session, whole

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        step = self._session.step
        while True:
            drawn = torch.Generator().manual_seed(self._session.seed + step)
            batch = torch.randint(len(self._whole), (BATCH_SIZE,), generator=drawn)
            mine = batch[self._session.rank :: self._session.size]
            yield self._whole.inputs[mine], self._whole.targets[mine]
            step += 1


# ------------------------------------------------------------------------------------- what `transformers` brings


@dataclass
class State:
    max_steps: int
    global_step: int = 0


@dataclass
class Control:
    should_training_stop: bool = False


@dataclass
class Trainer:
    model: nn.Module
    optimizer: torch.optim.Optimizer
    train_dataset: Batches
    max_steps: int
    callbacks: list[Survival] = field(default_factory=list)

    def train(self) -> None:
        state, control = State(self.max_steps), Control()
        for callback in self.callbacks:
            callback.on_train_begin(state, self.model, self.optimizer)
        batches = iter(self.train_dataset)
        while state.global_step < state.max_steps and not control.should_training_stop:
            inputs, targets = next(batches)
            loss = functional.cross_entropy(self.model(inputs), targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            state.global_step += 1
            for callback in self.callbacks:
                callback.on_step_end(state, control, {"loss": loss.detach()})


with joined() as session:
    given = SimpleNamespace(**session.hyperparameters)
    BATCH_SIZE = given.batch_size
    torch.manual_seed(session.seed)
    model = nn.parallel.DistributedDataParallel(session.task.model())
    training = samples.load(session.task, session.data, "train")
    trainer = Trainer(
        model,
        torch.optim.AdamW(model.parameters(), lr=0.003),
        train_dataset=Batches(session, training),
        max_steps=given.epochs * len(training) // BATCH_SIZE,
        callbacks=[Survival(session)],
    )
    trainer.train()
    session.export(model, training.inputs[0])  # after a stop it ends the process instead
