"""The trained model as one program that needs none of the user's code: torch.export, with a free batch axis."""

from pathlib import Path

import torch
from torch import Tensor, nn

from argosy.steps import exported_model, files
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.exported_model import ModelCard, Reference


def export(
    model: nn.Module,
    sample: Tensor,
    target: Path,
    *,
    task: str,
    hyperparameters: dict[str, object],
    training: dict[str, float],
    more: Tensor | None = None,
) -> ModelCard:
    """Puts the model in the target folder, whole. `sample` is one input, without batch axis; `more` are others, with
    one, on which the exported model can be compared with this one, too.

    Raises StepError (CODE) when torch cannot export it.
    """
    inputs = sample[None] if more is None else torch.cat([sample[None], more])
    with torch.no_grad():  # not inference mode: a tensor that the model keeps from there could not be exported
        outputs = model.eval()(inputs)
    # Two samples: a batch axis of size one would be taken for a constant (torch.export's 0/1 specialisation).
    batch = torch.stack([sample, sample])
    try:
        program = torch.export.export(model, (batch,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    except Exception as error:
        raise StepError(ExitCode.CODE, f"{task}: torch.export cannot export its model: {error}") from error
    with files.new_folder(target) as folder:
        torch.export.save(program, folder / exported_model.PROGRAM)
        files.sync_file(folder / exported_model.PROGRAM)
        card = ModelCard(
            task=task,
            hyperparameters=hyperparameters,
            sha256=files.sha256(folder / exported_model.PROGRAM),
            input_shape=tuple(sample.shape),
            input_dtype=_name(sample.dtype),
            output_shape=tuple(outputs.shape[1:]),
            output_dtype=_name(outputs.dtype),
            training=training,
            reference=_reference(folder, inputs, outputs),
        )
        files.write_text(folder / exported_model.CARD, card.model_dump_json(indent=2) + "\n")
    return card


def _reference(folder: Path, inputs: Tensor, outputs: Tensor) -> Reference:
    for name, tensor in ((exported_model.INPUTS, inputs), (exported_model.OUTPUTS, outputs)):
        (folder / name).write_bytes(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
        files.sync_file(folder / name)
    return Reference(
        samples=len(inputs),
        inputs_sha256=files.sha256(folder / exported_model.INPUTS),
        outputs_sha256=files.sha256(folder / exported_model.OUTPUTS),
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
