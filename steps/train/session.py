"""What a training script needs to survive: a few functions, on which argosy's own loop stands too.

    with joined() as session:
        model, optimizer = ...
        session.resume(model=model, optimizer=optimizer)
        for step in session.steps(total):
            loss = ...
            session.report(loss=loss, samples=64)
        session.export(model, sample)

Every rank makes the same calls.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from torch import Tensor, nn

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.shards.dataset import Dataset
from argosy.steps.shards.indexing import index
from argosy.steps.shards.sharing import shared
from argosy.steps.task import Task
from argosy.steps.train import parts, surroundings
from argosy.steps.train.checkpoints import Stateful
from argosy.steps.train.ending import Ending
from argosy.steps.train.keeping import Keeper
from argosy.steps.train.pace import Pace
from argosy.steps.train.poll import Count, Losses, Poll, Vote
from argosy.steps.train.surroundings import Alone, Surroundings
from argosy.steps.train.telling import Telling

PROMPT_SECONDS = 1.0
"""A step longer than this is agreed on at its end, and not at the end of the next: a stop has only so much time."""
Number = Tensor | float


class Stopped(SystemExit):
    """The training was asked to stop and has left a checkpoint: the process ends, and has not failed."""

    def __init__(self) -> None:
        super().__init__(0)


class Session:
    """One rank's part in a training."""

    def __init__(self, around: Surroundings) -> None:
        self.rank, self.size, self.device = around.world.rank, around.world.size, around.world.device
        self.seed, self.hyperparameters = around.seed, around.hyperparameters
        self.step = self.resumed_at = 0
        """Optimiser steps that are done."""
        self.stopped = False
        """Asked to stop: all that there is, is in a checkpoint."""
        self._around, self._poll, self._pace = around, Poll(around.world), Pace()
        own: dict[str, Stateful] = {"session": self._pace, "generators": parts.Generators(around.world, around.seed)}
        self._keeper = Keeper(around, own)
        self._telling = Telling(around, self._pace)
        self._ending = Ending(around, self._keeper, self._pace)
        self._watchers: list[Callable[[Losses], None]] = [self._refuse_no_number, self._telling.settled]
        self._reported: tuple[Number | None, int, dict[str, Number]] = (None, 0, {})
        self._metric: float | None = None
        self._must_save = self._is_prompt = False

    @property
    def data(self) -> Path:
        """Folder of the staged data. Raises StepError (USAGE) when a script was started alone, without one."""
        if self._around.data is None:
            raise StepError(ExitCode.USAGE, "nobody says where the data is: give joined(Alone(data=...))")
        return self._around.data

    def dataset(self, split: str) -> Dataset:
        """A split of the staged data, which the ranks of a node index once. Raises StepError: USAGE as `data` does,
        DATA with every fault of its shards.
        """
        attempt = self._around.attempt
        return index(self.data, split) if attempt is None else shared(self.data, split, attempt.folder)

    @property
    def task(self) -> Task:
        """The task by which gates judge the model. Raises StepError (USAGE) as `data` does."""
        if self._around.task is None:
            raise StepError(ExitCode.USAGE, "nobody says what the task is: give joined(Alone(task=...))")
        return self._around.task

    def resume(self, **given: object) -> int:
        """Gives these models, optimisers and so on the state of the newest checkpoint, if there is one, and keeps them
        in checkpoints from now on. Whatever has a `state_dict` can be given.

        The step to go on from. Raises StepError: USAGE for what has no state, CONFIGURATION for a checkpoint of others.
        """
        with self.aside("resume"):
            self.step = self.resumed_at = self._keeper.resume(given)
        return self.step

    def take_best(self, **given: object) -> int:
        """Gives these the state that was kept with the greatest metric. Its step; 0: none was kept with one."""
        with self.aside("resume"):
            return self._keeper.take_best(given)

    def steps(self, total: int) -> Iterator[int]:
        """The steps that are left; one is done when the next is asked for. Ends the process when asked to stop."""
        self._pace.start()
        while self.step < total:
            yield self.step
            if self.after_step(self.step + 1, total):
                raise Stopped

    def report(self, *, loss: Number, samples: int = 0, **metrics: Number) -> None:
        """What the step has given: the mean loss of this rank's samples, and how many all ranks together had.

        A tensor stays on its device: nothing is read from there before the next step is under way. Raises ValueError
        for a loss of several numbers.
        """
        if isinstance(loss, Tensor) and loss.numel() != 1:
            raise ValueError(f"session.report: loss has shape {tuple(loss.shape)}; give its mean")
        self._reported = (loss, samples, metrics)

    def keep(self, metric: float) -> None:
        """The step ends with a checkpoint, and of all that were kept the one with the greatest metric stays."""
        self._metric, self._must_save = metric, True

    def after_step(self, step: int, total: int) -> bool:
        """For a loop that is not ours: this many steps of all are done. True: stop now, a checkpoint is left.

        Raises StepError (CODE), on every rank, for a loss that is no number.
        """
        (loss, samples, metrics), self._reported = self._reported, (None, 0, {})
        seconds = self._pace.stepped(samples)
        self.step = step
        self._around.signs.at(step)
        counts = self._voted(loss, samples, seconds, is_last=step >= total)
        self._telling.stepped(step, total, seconds=seconds, stalled=self._keeper.stall_seconds, measured=metrics)
        self.stopped = any(count.vote.stop for count in counts)
        if self.stopped or self._must_save or step >= total or any(count.vote.save for count in counts):
            self._keeper.save(step, self._metric)
            self._metric, self._must_save = None, False
        if self.stopped:
            self._keeper.finish()
        self._pace.start()
        return self.stopped

    def amend(self, metric: float, **metrics: Number) -> None:
        """Before the first step: the checkpoint that was resumed from has this metric, and the step these."""
        self._keeper.amend(self.step, metric)
        self._telling.amended(self.step, metrics)

    def is_asked_to_stop(self) -> bool:
        """The same on every rank; every rank asks. In the midst of a step: leave what takes long undone, and the step
        ends with a checkpoint, and the training. Before the first: leave.
        """
        self._must_save |= (asked := self.summed(self._around.stop.is_set()) > 0)
        return asked

    def leave(self) -> NoReturn:
        """Before the first step: ends the process, which was asked to stop; nothing is new."""
        self.stopped = True
        raise Stopped

    def watch(self, watcher: Callable[[Losses], None]) -> None:
        """Is told the loss of every step, of all ranks together and on every rank, before a checkpoint has it."""
        self._watchers.append(watcher)

    def spoiled(self, what: str) -> StepError:
        """For a watcher to raise, of a training that has gone wrong."""
        return self._keeper.spoiled(what)

    @contextmanager
    def aside(self, name: str) -> Iterator[None]:
        """What is no part of a step, such as an evaluation: it may take long, and counts for no step's time."""
        self._around.signs.rest(name)
        began = time.monotonic()
        yield
        self._pace.skip(time.monotonic() - began)
        self._around.signs.work()

    def summed(self, number: float) -> float:
        """The sum over all ranks."""
        return self._around.world.summed(number)[0]

    def export(self, model: nn.Module, sample: Tensor, **measured: float) -> None:
        """The model that gates judge and `publish` publishes, with what was measured of it; the training is over.

        `sample` is one input, without batch axis. The model is in host memory afterwards. Raises StepError (CODE) when
        torch cannot export it.
        """
        if self.stopped:
            raise Stopped
        known = {} if self._telling.loss is None else {"loss": self._telling.loss}
        self._ending.export(model, sample, {"steps": self.step, **known, **measured})

    def unsharded(self, model: nn.Module, *, into: nn.Module) -> nn.Module:
        """The second, with the weights of the first, which are sharded over the ranks: on rank 0, to be exported."""
        parts.gather(model, into)
        return into

    def end(self) -> None:
        """The last checkpoint and the last metrics have arrived when this returns. Raises StepError."""
        self._ending.end(self.step, self.resumed_at, stopped=self.stopped)
        self._telling.close(self.step, finished=not self.stopped)

    def _voted(self, loss: Number | None, samples: int, seconds: float, *, is_last: bool) -> list[Count]:
        """What all ranks voted: on the step before, and on this one, too, where there is something to be done."""
        before = self._poll.count()
        counts = [before] if before else []
        self._poll.cast(self.step, loss, samples, Vote(self._around.stop.is_set(), self._keeper.is_due(), seconds))
        is_asked = any(count.vote.stop or count.vote.save for count in counts)
        if is_asked or is_last or self._must_save or self._is_prompt:
            counts += self._poll.rest()
        for count in counts:
            self._is_prompt = count.vote.seconds > PROMPT_SECONDS
            if count.losses is not None:
                for watch in self._watchers:
                    watch(count.losses)
        return counts

    def _refuse_no_number(self, losses: Losses) -> None:
        if losses.mean is not None and not math.isfinite(losses.mean):
            raise self.spoiled(f"loss is {losses.mean} at step {losses.step}")


@contextmanager
def joined(alone: Alone | None = None) -> Iterator[Session]:
    """A rank's part in a training; `alone` is what there is where nobody supervises it.

    Raises StepError for a task, hyperparameters or data that are not as they should be.
    """
    with surroundings.found(alone or Alone()) as around:
        session = Session(around)
        with suppress(Stopped):
            yield session
        session.end()
    if session.stopped:
        raise Stopped
