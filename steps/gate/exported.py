"""The exported model under judgement, as its server will load it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from argosy.steps import exported_model, serving, task
from argosy.steps.errors import data_error
from argosy.steps.gate.device import Device, device
from argosy.steps.gates import GateInput
from argosy.steps.task import Task


@dataclass(frozen=True)
class Exported:
    program: nn.Module
    device: Device
    task: Task

    def request(self, batch: Tensor) -> Tensor:
        """Outputs for a batch in host memory. They stay on the device, which may not have finished them."""
        with torch.inference_mode():
            outputs: Tensor = self.program(batch.to(self.device.name))
        return outputs


def load(inputs: GateInput) -> Exported:
    """Raises StepError (DATA) unless the model in the store is the one with this hash, and can be loaded."""
    folder = inputs.models / inputs.model
    card = exported_model.verified(folder, inputs.model_hash)
    chosen = device(inputs.gpus)
    path = folder / exported_model.PROGRAM
    try:
        program = serving.load_program(path, chosen.name)
    except Exception as error:
        raise data_error(f"{path}: torch cannot load it: {error}") from error
    return Exported(program, chosen, task.made(inputs.task, card.hyperparameters))
