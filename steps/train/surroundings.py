"""What surrounds a session: a supervisor, or nobody."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from argosy.steps import staged, task
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.task import Task
from argosy.steps.train import world
from argosy.steps.train.attempt import ATTEMPT, Attempt
from argosy.steps.train.checkpoints import Checkpoints, Interval, store
from argosy.steps.train.checkpoints.folder import Folder
from argosy.steps.train.metrics import Metrics, metrics
from argosy.steps.train.run import Run
from argosy.steps.train.supervision import Supervision, supervision
from argosy.steps.train.world import World

UNKNOWN_DATA = "0" * 32
"""In place of the hash of data that nobody has staged."""
ALONE = "nobody supervises this training: it is neither stopped with a checkpoint nor started again\n"

HELPERS_MAIN = "__mp_main__"
"""Name under which such a process runs the script."""
UNGUARDED = (
    "the script starts processes, such as a loader's workers, and each runs the script anew; "
    'put all but imports and definitions below `if __name__ == "__main__":`'
)


@dataclass(frozen=True)
class Alone:
    """What a script has when it is started by hand, `torchrun script.py` or `python script.py`."""

    data: Path | None = None
    """Folder of the shards."""
    models: Path | None = None
    """Folder that receives checkpoints and the exported model; none: neither is kept."""
    task: str = ""
    """`module:Class`; empty: the script does without."""
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    checkpoint_every_seconds: float = 60


class Signs(Protocol):
    """Where a rank says how far it is."""

    def at(self, step: int) -> None: ...
    def rest(self, name: str) -> None: ...
    def work(self) -> None: ...


class Unseen:
    """Nobody looks."""

    def at(self, step: int) -> None:
        pass

    def rest(self, name: str) -> None:
        pass

    def work(self) -> None:
        pass


@dataclass(frozen=True)
class Surroundings:
    world: World
    seed: int
    task_name: str
    task: Task | None
    hyperparameters: dict[str, Any]
    data: Path | None
    model: Path | None
    """Folder that receives the exported model."""
    checkpoints: Checkpoints | None
    interval: Interval
    begun: float
    """Seconds since the epoch: when the first attempt began."""
    metrics: Metrics | None = None
    attempt: Attempt | None = None
    signs: Signs = field(default_factory=Unseen)
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when this rank is asked to stop."""


@contextmanager
def found(alone: Alone) -> Iterator[Surroundings]:
    """Raises StepError for a task, hyperparameters or data that are not as they should be."""
    _refuse_helper()
    above = supervision()
    if above is None:
        with _alone(alone) as surroundings:
            yield surroundings
    else:
        with _supervised(above) as surroundings:
            yield surroundings


def _refuse_helper() -> None:
    """Ends a process that a script's loader started, and that runs the whole script anew, as Python does by spawn and
    forkserver (multiprocessing/spawn.py, _fixup_main_from_path): it would take itself for the rank.
    """
    main = sys.modules.get(HELPERS_MAIN)  # in a process that is none it is another name of __main__
    if main is None or main.__name__ != HELPERS_MAIN:
        return
    error = StepError(ExitCode.CODE, UNGUARDED)
    if os.environ.get(ATTEMPT):
        Attempt(Path(os.environ[ATTEMPT])).report_failure(int(os.environ["RANK"]), error)
    sys.exit(error.message)


@contextmanager
def _supervised(above: Supervision) -> Iterator[Surroundings]:
    inputs = above.attempt.inputs
    run = Run(inputs)
    user_task = task.made(inputs.task, inputs.hyperparameters)
    with staged.data(inputs) as data, world.joined(gpus=inputs.gpus > 0) as ranks:
        ranks.refuse_other_data(inputs.dataset_hash)
        yield Surroundings(
            world=ranks,
            seed=inputs.seed,
            task_name=inputs.task,
            task=user_task,
            hyperparameters=user_task.hyperparameters.model_dump(mode="json"),
            data=data,
            model=run.model,
            checkpoints=Checkpoints(
                store(inputs),
                ranks,
                kept=inputs.checkpoints_kept,
                dataset_hash=inputs.dataset_hash,
                fence=above.attempt.fence,
                told=above.attempt.report_checkpoint if os.environ["LOCAL_RANK"] == "0" else _silent,
            ),
            interval=Interval(inputs.checkpoint_every_seconds, inputs.hours_between_failures),
            begun=run.begun(),
            metrics=metrics(inputs) if ranks.rank == 0 else None,
            attempt=above.attempt,
            signs=above.signs,
            stop=above.stop,
        )


def _silent(_step: int) -> None:
    """Another rank of this node tells it."""


@contextmanager
def _alone(given: Alone) -> Iterator[Surroundings]:
    with world.joined(gpus=torch.cuda.is_available()) as ranks:
        if ranks.rank == 0:
            sys.stderr.write(ALONE)
        user_task = task.made(given.task, given.hyperparameters) if given.task else None
        kept_in = Folder(given.models / "checkpoints") if given.models else None
        yield Surroundings(
            world=ranks,
            seed=given.seed,
            task_name=given.task,
            task=user_task,
            hyperparameters=user_task.hyperparameters.model_dump(mode="json") if user_task else given.hyperparameters,
            data=given.data,
            model=given.models / "model" if given.models else None,
            checkpoints=Checkpoints(kept_in, ranks, kept=2, dataset_hash=UNKNOWN_DATA) if kept_in else None,
            interval=Interval(given.checkpoint_every_seconds, 24),
            begun=time.time(),
        )
