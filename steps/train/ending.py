"""How a training ends: with a model, or stopped with a checkpoint."""

import math
from collections.abc import Mapping
from contextlib import suppress

from torch import Tensor, nn

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.shards.indexing import index
from argosy.steps.train import parts
from argosy.steps.train.attempt import Outcome
from argosy.steps.train.data.evaluation import evaluation
from argosy.steps.train.export import export
from argosy.steps.train.keeping import Keeper
from argosy.steps.train.pace import Pace
from argosy.steps.train.surroundings import Surroundings

OF_OUTCOME = ("loss", "validation_accuracy", "samples_per_second")
REFERENCES = 4
"""Samples of the data on which the exported model can be compared with the trained one."""


class Ending:
    def __init__(self, around: Surroundings, keeper: Keeper, pace: Pace) -> None:
        self._around, self._keeper, self._pace = around, keeper, pace
        self._model_hash = ""
        self._measured: dict[str, float] = {}

    def export(self, model: nn.Module, sample: Tensor, measured: Mapping[str, float]) -> None:
        """The model is exported by the first rank, once the last checkpoint counts."""
        self._keeper.finish()
        if self._around.world.rank != 0:
            return
        if self._around.model is None:
            raise StepError(ExitCode.USAGE, "nobody says where the model goes: give joined(Alone(models=...))")
        self._measured = {name: _finite(name, value) for name, value in measured.items()}
        if (rate := self._pace.samples_per_second) is not None:
            self._measured["samples_per_second"] = rate
        self._around.signs.rest("export")
        if self._around.attempt is not None:
            self._around.attempt.fence()
        self._model_hash = export(
            parts.bare(model).cpu(),
            sample.cpu(),
            self._around.model,
            task=self._around.task_name,
            hyperparameters=self._around.hyperparameters,
            training=self._measured,
            more=self._references(sample),
        ).sha256

    def _references(self, sample: Tensor) -> Tensor | None:
        """Inputs as the task makes them of the data; None: a script has no task, or there is no such data.

        Raises StepError (CODE) for a sample unlike them.
        """
        task, data = self._around.task, self._around.data
        if task is None or data is None:
            return None
        for split in ("validation", "test"):
            with suppress(Exception):  # a training that is over must not end without its model for want of these
                inputs, _ = next(evaluation(task, index(data, split), 0, 1, REFERENCES))
                break
        else:
            return None
        if inputs.shape[1:] != sample.shape or inputs.dtype != sample.dtype:
            told, wanted = (f"{one.dtype} of shape {tuple(one.shape)}" for one in (sample, inputs[0]))
            raise StepError(
                ExitCode.CODE,
                f"session.export: the sample is {told}, and a sample of the task {wanted}, which gates give the model; "
                "give one such sample, without batch axis",
            )
        return inputs

    def end(self, step: int, resumed_at: int, *, stopped: bool) -> None:
        """Tells the supervisor of a model, or of a stop; that there is neither it says itself."""
        self._keeper.finish()
        if self._around.attempt is None or self._around.world.rank != 0 or not (stopped or self._model_hash):
            return
        self._around.attempt.report_outcome(
            Outcome(
                resumed_at_step=resumed_at,
                step=step,
                model_hash=self._model_hash,
                save_seconds=self._keeper.save_seconds,
                stall_seconds=self._keeper.stall_seconds,
                **{name: self._measured[name] for name in OF_OUTCOME if name in self._measured},
            )
        )


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise StepError(ExitCode.CODE, f"session.export: {name} is {value}; give a finite number")
    return float(value)
