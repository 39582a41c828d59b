"""What a user's task is: the part of a training that argosy cannot know.

A pipeline names a task by import string, `package.module:Class`. Both the trainer and the gates make one as
`Class(hyperparameters)` and ask it for samples and for the judgement of a prediction.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from argosy.steps import usercode
from argosy.steps.arguments import nearest
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.hyperparameters import Hyperparameters


class Task(Protocol):
    """A classification or any other task whose predictions are right or wrong, sample by sample.

    Two more kinds of methods are for gates, where they name them. `METRIC(outputs, targets) -> Tensor`, of any name:
    bool or floating point of shape (batch,), a score for each sample, the higher the better; or a scalar, one number
    for all of them, such as F1. `labels(members) -> Mapping[str, str]`: what a sample belongs to, such as its patient
    or its hospital, by which gates take samples for one cluster or for one slice.
    """

    @property
    def hyperparameters(self) -> Hyperparameters:
        """What the task was made with. The class also names their type, `Class.Hyperparameters`: a subclass of
        `argosy.steps.hyperparameters.Hyperparameters` in a module without torch, since a pipeline imports it too.
        """

    def model(self) -> nn.Module:
        """A new model. The seed has been set."""

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """What changes these parameters after each batch."""

    def sample(self, members: Mapping[str, bytes]) -> tuple[Tensor, Tensor]:
        """One sample from its WebDataset members, extension -> bytes: an input and a target, both without batch axis.

        Raises ValueError for members that are no sample of this task.
        """

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean loss of a batch, a scalar; `outputs` is what the model gave for the inputs."""

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Which samples of a batch were predicted correctly: bool, shape (batch,)."""


def made(name: str, hyperparameters: Mapping[str, Any]) -> Task:
    """The task of this import string.

    Raises StepError (USAGE) when there is no such task, or it does not take these hyperparameters.
    """
    task = usercode.imported(name)
    kind = getattr(task, "Hyperparameters", None)
    if not (isinstance(task, type) and isinstance(kind, type) and issubclass(kind, Hyperparameters)):
        raise StepError(
            ExitCode.USAGE, f"{name}: is no task: it needs a class whose Hyperparameters derive from argosy's"
        )
    return cast("Task", task(usercode.hyperparameters(kind, hyperparameters)))


def loss(task: Task, outputs: Tensor, targets: Tensor) -> Tensor:
    """The task's loss. Raises StepError (CODE) unless it is a scalar that the model can learn from."""
    given: object = task.loss(outputs, targets)
    if not isinstance(given, Tensor) or given.shape != () or not given.is_floating_point():
        raise _wrong(task.loss, _kind(given), "a scalar tensor of floating point, the mean over the batch")
    if not given.requires_grad:
        raise _wrong(task.loss, "a tensor without a gradient", "one that follows from the model's outputs")
    return given


def correct(task: Task, outputs: Tensor, targets: Tensor) -> Tensor:
    """Which predictions are correct. Raises StepError (CODE) unless that is bool of shape (batch,)."""
    given: object = task.correct(outputs, targets)
    if not isinstance(given, Tensor) or given.dtype != torch.bool or given.shape != targets.shape[:1]:
        raise _wrong(task.correct, _kind(given), f"torch.bool of shape ({len(targets)},)")
    return given


def metric(task: Task, name: str, outputs: Tensor, targets: Tensor) -> Tensor:
    """A metric of these predictions, on the CPU: of shape (batch,), or () for one number of all.

    Raises StepError: CONFIGURATION when the task has no such method, CODE when it gives anything else.
    """
    if name == "correct":
        return correct(task, outputs, targets)
    method = _method(task, name, f"metric={name} needs")
    given: object = method(outputs, targets)
    if not isinstance(given, Tensor) or given.shape not in {(), targets.shape[:1]}:
        raise _wrong(method, _kind(given), f"bool or floating point of shape ({len(targets)},) or ()")
    if not (given.is_floating_point() or (given.dtype == torch.bool and given.shape)):
        raise _wrong(method, _kind(given), f"floating point, or bool of shape ({len(targets)},)")
    return given.detach().cpu()


def label(task: Task, members: Mapping[str, bytes], name: str) -> str:
    """What a sample belongs to.

    Raises StepError (CONFIGURATION) when the task tells no labels, or not this one, CODE when it is no text.
    """
    method = _method(task, "labels", f"the label {name} needs")
    given = method(members)
    if not isinstance(given, Mapping):
        raise _wrong(method, type(given).__name__, "a mapping of label -> text")
    if name not in given:
        raise configuration_error(f"{usercode.place(method)} has no label {name}{nearest(name, given)}")
    if not isinstance(given[name], str):
        raise _wrong(method, f"{name} of type {type(given[name]).__name__}", "a mapping of label -> text")
    return cast("str", given[name])


def _method(task: Task, name: str, needs: str) -> Callable[..., object]:
    method: object = getattr(task, name, None)
    if not callable(method):
        methods = [one for one in dir(task) if inspect.isroutine(getattr(task, one, None))]
        raise configuration_error(f"{type(task).__name__} has no method {name}, which {needs}{nearest(name, methods)}")
    return method


def _kind(given: object) -> str:
    return f"{given.dtype} of shape {tuple(given.shape)}" if isinstance(given, Tensor) else type(given).__name__


def _wrong(method: Callable[..., object], gave: str, wanted: str) -> StepError:
    return StepError(ExitCode.CODE, f"{usercode.place(method)} gave {gave}; it must give {wanted}")
