"""What a user's task is: the part of a training that argosy cannot know.

A pipeline names a task by import string, `package.module:Class`. Both the trainer and the gates make one from its
hyperparameters and ask it for samples and for the judgement of a prediction.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from pydantic import BaseModel
from torch import Tensor, nn


@runtime_checkable
class Task(Protocol):
    """A classification or any other task whose predictions are right or wrong, sample by sample."""

    Hyperparameters: type[BaseModel]
    """Scalar fields with defaults: each becomes a workflow parameter, shown and editable in the Argo UI. The class
    belongs in a module without torch, since a pipeline imports it too."""

    hyperparameters: BaseModel

    def model(self) -> nn.Module:
        """A new model. The seed has been set."""

    def sample(self, members: Mapping[str, bytes]) -> tuple[Tensor, Tensor]:
        """One sample from its WebDataset members, extension -> bytes: an input and a target, both without batch axis.

        Raises ValueError for members that are no sample of this task.
        """

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean loss of a batch, a scalar; `outputs` is what the model gave for the inputs."""

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Which samples of a batch were predicted correctly: bool, shape (batch,)."""
