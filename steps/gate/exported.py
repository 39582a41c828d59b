"""The exported model under judgement, as its server will load it."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from argosy.steps import exported_model, serving, task
from argosy.steps.errors import data_error
from argosy.steps.exported_model import ModelCard
from argosy.steps.gate.device import Device, device
from argosy.steps.gates import GateInput
from argosy.steps.task import Task


@dataclass(frozen=True)
class Exported:
    program: nn.Module
    device: Device
    task: Task
    card: ModelCard

    def request(self, batch: Tensor) -> Tensor:
        """Outputs for a batch in host memory. They stay on the device, which may not have finished them."""
        with torch.inference_mode():
            outputs: Tensor = self.program(batch.to(self.device.name))
        return outputs


def load(inputs: GateInput) -> Exported:
    """Raises StepError (DATA) unless the model in the store is the one with this hash, and can be loaded."""
    return loaded(inputs.models / inputs.model, inputs.model_hash, inputs.task, inputs.gpus)


def loaded(folder: Path, model_hash: str, task_name: str, gpus: int) -> Exported:
    """The exported model in any folder. Raises StepError as `load` does."""
    card = exported_model.verified(folder, model_hash)
    chosen = device(gpus)
    path = folder / exported_model.PROGRAM
    try:
        program = serving.load_program(path, chosen.name)
    except Exception as error:
        raise data_error(f"{path}: torch cannot load it: {error}") from error
    return Exported(program, chosen, task.made(task_name, card.hyperparameters), card)
