"""A run in the model store.

MODELS/RUN/recipe.json              what is being trained: a run's name stands for one recipe, for ever
MODELS/RUN/checkpoints/             see checkpoints/
MODELS/RUN/model/                   the exported model
MODELS/RUN/result.json              there when the training is finished
MODELS/RUN/lock                     held by the supervisor
MODELS/RUN/owner.json               see ownership.py
MODELS/RUN/attempts/                see history.py
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from argosy.steps import exported_model, files
from argosy.steps.base import Contract, Md5
from argosy.steps.contracts import ExitCode, Loop, TrainInput, TrainOutput
from argosy.steps.errors import StepError, configuration_error, data_error

MODEL = "model"


class Recipe(Contract):
    """What decides the weights. Ranks and GPUs may change from one attempt to the next."""

    task: str
    dataset_hash: Md5
    seed: int
    hyperparameters: dict[str, str]
    script: str = ""
    loop: Loop = Loop()
    streaming: bool = False


class Run:
    """The folder of one run."""

    def __init__(self, inputs: TrainInput) -> None:
        self.name = inputs.run
        self.folder = inputs.models / inputs.run
        self.checkpoints = self.folder / "checkpoints"
        self.model = self.folder / MODEL
        self._recipe_file = self.folder / "recipe.json"
        self._recipe = Recipe(
            task=inputs.task,
            dataset_hash=inputs.dataset_hash,
            seed=inputs.seed,
            hyperparameters=inputs.hyperparameters,
            script=inputs.script,
            loop=inputs.loop,
            streaming=inputs.streaming,
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else trains the run meanwhile; the kernel frees a dead one's lock. Raises StepError (TEMPORARY)."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise StepError(
                ExitCode.TEMPORARY, f"run {self.name}: another process is training it in {self.folder}; stop that first"
            ) from None
        finally:
            os.close(lock)

    def claim(self) -> None:
        """The run is of this recipe. Raises StepError as `agree`."""
        self.agree()
        if not self._recipe_file.exists():
            files.write_text(self._recipe_file, self._recipe.model_dump_json(indent=2) + "\n")

    def begun(self) -> float:
        """Seconds since the epoch: when its first attempt wrote the recipe, which is written once."""
        return self._recipe_file.stat().st_mtime

    def agree(self) -> None:
        """Raises StepError when the run was begun with another recipe (CONFIGURATION), or with one that cannot be read
        (DATA).
        """
        path = self._recipe_file
        if not path.exists():
            return
        try:
            begun = Recipe.model_validate_json(path.read_bytes())
        except ValidationError:
            remedy = f"give another --run, or remove {self.folder} to train anew"
            raise data_error(f"{path}: is no recipe of this version of argosy; {remedy}") from None
        for (field, before), (_, now) in zip(_settings(begun), _settings(self._recipe), strict=True):
            if before != now:
                raise configuration_error(
                    f"run {self.name}: was begun with {field} {before} and not {now}; give another --run"
                )

    def sweep(self) -> None:
        """Removes what a killed attempt left half made."""
        for folder in (self.folder, self.checkpoints):
            files.sweep(folder)

    def result(self) -> TrainOutput | None:
        """What the finished training gave; None when it is not finished, or its model is not there whole.

        Raises StepError (DATA) when the result cannot be read.
        """
        path = self.folder / "result.json"
        try:
            output = TrainOutput.model_validate_json(path.read_bytes())
            model_hash = files.sha256(self.model / exported_model.PROGRAM)
        except FileNotFoundError:
            return None
        except ValidationError:
            remedy = "remove it to go on from the last checkpoint"
            raise data_error(f"{path}: is no result of this version of argosy; {remedy}") from None
        return output if model_hash == output.model_hash else None

    def finish(self, output: TrainOutput) -> None:
        files.write_text(self.folder / "result.json", output.model_dump_json(indent=2) + "\n")


def _settings(recipe: Recipe) -> Iterator[tuple[str, object]]:
    """Each by its name; those of the loop as `loop.NAME`."""
    for field, value in recipe:
        if isinstance(value, Loop):
            yield from ((f"{field}.{name}", setting) for name, setting in value)
        else:
            yield field, value
