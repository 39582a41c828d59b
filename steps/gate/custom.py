"""The user's own gate: a function that measures, and is judged like every other measurement.

from argosy.steps.gate.custom import Judged, Measurement

def largest_output(judged: Judged) -> Measurement:
    samples = judged.samples("test")
    largest = float(judged.request(samples.inputs).abs().max())
    return Measurement("largest output", "", largest, largest, largest, len(samples), "over the test split")
"""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from argosy.steps import staged, usercode
from argosy.steps.base import Split
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gate import exported
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.exported import Exported
from argosy.steps.gate.split import JudgedSplit
from argosy.steps.gate.verdict import AT_LEAST, AT_MOST, Measurement
from argosy.steps.gates import CustomInput, GateOutput
from argosy.steps.samples import Samples
from argosy.steps.task import Task

__all__ = ["Judged", "Measurement", "run"]

DIRECTIONS = {"at-least": AT_LEAST, "at-most": AT_MOST}


@dataclass(frozen=True)
class Judged:
    """What a gate may ask about the model that it judges."""

    confidence: float
    """That each of the measurement's bounds must have."""
    _model: Exported
    _folder: Path
    _dataset_hash: str

    @property
    def task(self) -> Task:
        """The user's task, made with the hyperparameters that the model was trained with."""
        return self._model.task

    def request(self, batch: Tensor) -> Tensor:
        """The exported model's outputs for a batch of its inputs, on the CPU."""
        return self._model.request(batch).cpu()

    def samples(self, split: Split, limit: int | None = None) -> Samples:
        """A split, or so many of its samples, in memory: a random part of it, the same for every model.

        Raises StepError (DATA) when it is missing, empty or damaged.
        """
        return JudgedSplit(self.task, self._folder, self._dataset_hash, split).first(limit)


def run(inputs: CustomInput) -> GateOutput:
    """Raises StepError: DATA when the model or the data is missing or damaged, USAGE when there is no such function,
    CODE when it gives no measurement. Its own exceptions pass.
    """
    started = time.monotonic()
    function = _function(inputs.function)
    with staged.data(inputs) as folder:
        given: object = function(Judged(inputs.confidence, exported.load(inputs), folder, inputs.dataset_hash))
    if not isinstance(given, Measurement):
        raise StepError(
            ExitCode.CODE, f"{usercode.place(function)} gave {type(given).__name__}; it must give a Measurement"
        )
    measured = _in_numbers(given, usercode.place(function))
    return concluded(inputs, measured, inputs.threshold, DIRECTIONS[inputs.direction], started)


def _in_numbers(given: Measurement, place: str) -> Measurement:
    """The measurement, whose numbers may be of any library's kinds. Raises StepError (CODE) where one is none."""
    try:
        lower, upper = (None if bound is None else float(bound) for bound in (given.lower, given.upper))
        measured = replace(given, estimate=float(given.estimate), lower=lower, upper=upper, samples=int(given.samples))
    except (TypeError, ValueError, RuntimeError) as error:  # torch raises a RuntimeError for a tensor of several
        raise StepError(ExitCode.CODE, f"{place} gave a Measurement with what is no number: {error}") from None
    if lower is not None and upper is not None and lower > upper:
        raise StepError(
            ExitCode.CODE, f"{place} gave a Measurement whose lower bound {lower:g} is above its upper bound {upper:g}"
        )
    return measured


def _function(name: str) -> Callable[[Judged], Any]:
    function = usercode.imported(name)
    if not callable(function) or inspect.isclass(function):
        raise StepError(
            ExitCode.USAGE, f"{name}: is no function; a gate is one that takes Judged and gives Measurement"
        )
    chosen: Callable[[Judged], Any] = function
    return chosen
