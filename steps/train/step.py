"""Train: a task on a staged dataset, into the model store."""

import tempfile
import time
from pathlib import Path

from argosy.steps import files, staged
from argosy.steps.contracts import ExitCode, TrainInput, TrainOutput
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.train.attempt import Outcome
from argosy.steps.train.run import MODEL, Run
from argosy.steps.train.supervisor import supervise


def run(inputs: TrainInput) -> TrainOutput:
    started = time.monotonic()
    run = Run(inputs)
    with run.locked():
        run.claim()
        if result := run.result():
            return result
        run.sweep()
        _require_gpus(inputs)
        files.sweep(inputs.output)
        with staged.data(inputs), tempfile.TemporaryDirectory(prefix=files.PARTIAL, dir=inputs.output) as folder:
            outcome = supervise(inputs, Path(folder))
        output = TrainOutput(
            summary=_summary(outcome),
            seconds=time.monotonic() - started,
            model=f"{inputs.run}/{MODEL}",
            model_hash=outcome.model_hash,
            steps=outcome.step,
            resumed_at_step=outcome.resumed_at_step,
            loss=outcome.loss,
            validation_accuracy=outcome.validation_accuracy,
            samples_per_second=outcome.samples_per_second,
        )
        run.finish(output)
        return output


def _summary(outcome: Outcome) -> str:
    resumed = f", resumed at step {outcome.resumed_at_step:,}" if outcome.resumed_at_step else ""
    return (
        f"validation accuracy {outcome.validation_accuracy:.4g} after {outcome.step:,} steps{resumed}, "
        f"loss {outcome.loss:.4g}, {outcome.samples_per_second:,.0f} samples/s"
    )


def _require_gpus(inputs: TrainInput) -> None:
    """Raises StepError when the ranks cannot have a GPU each: training never falls back to the CPU."""
    if not inputs.gpus:
        return
    if inputs.ranks > inputs.gpus:
        raise StepError(
            ExitCode.USAGE, f"--ranks={inputs.ranks}: is more than --gpus={inputs.gpus}; a rank needs a GPU"
        )
    # Two seconds, but nothing else counts GPUs as the ranks will: devices, MIG slices, CUDA_VISIBLE_DEVICES.
    import torch

    visible = torch.cuda.device_count()
    if visible < inputs.gpus:
        raise configuration_error(f"--gpus={inputs.gpus}: {visible} are visible here; ask for GPUs, or give --gpus=0")
