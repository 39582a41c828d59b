"""Train: a task on a staged dataset, into the model store."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argosy.steps import files, machine, staged
from argosy.steps.contracts import ExitCode, TrainInput, TrainOutput
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.train import course, nodes
from argosy.steps.train.attempt import Outcome
from argosy.steps.train.course import Supervising
from argosy.steps.train.run import MODEL, Run
from argosy.steps.train.supervisor import Supervisor


def run(inputs: TrainInput, supervising: Supervising = Supervisor) -> TrainOutput:
    started = time.monotonic()
    node, run = nodes.this_node(inputs), Run(inputs)
    if not node.is_leader:
        run.agree()
        if result := run.result():
            return result
        with _workplace(inputs) as folder:
            return course.followed(inputs, run, node, folder, supervising)
    with run.locked():
        run.claim()
        if result := run.result():
            return result
        run.sweep()
        with _workplace(inputs) as folder:
            outcome = course.led(inputs, run, node, folder, supervising)
        output = _output(inputs, outcome, time.monotonic() - started)
        run.finish(output)
        return output


@contextmanager
def _workplace(inputs: TrainInput) -> Iterator[Path]:
    """A folder for the attempt, while the data is kept on the node."""
    _require_gpus(inputs)
    files.sweep(inputs.output)
    with staged.data(inputs), tempfile.TemporaryDirectory(prefix=files.PARTIAL, dir=inputs.output) as folder:
        yield Path(folder)


def _output(inputs: TrainInput, outcome: Outcome, seconds: float) -> TrainOutput:
    return TrainOutput(
        summary=_summary(outcome),
        seconds=seconds,
        model=f"{inputs.run}/{MODEL}",
        model_hash=outcome.model_hash,
        steps=outcome.step,
        resumed_at_step=outcome.resumed_at_step,
        loss=outcome.loss,
        validation_accuracy=outcome.validation_accuracy,
        samples_per_second=outcome.samples_per_second,
        machine=machine.fingerprint(),
        save_seconds=outcome.save_seconds,
        stall_seconds=outcome.stall_seconds,
    )


def _summary(outcome: Outcome) -> str:
    """`validation accuracy 0.97 after 400 steps, resumed at step 120, loss 0.05, 3,000 samples/s`, as far as known."""
    accuracy, loss, rate = outcome.validation_accuracy, outcome.loss, outcome.samples_per_second
    parts = [
        f"{'' if accuracy is None else f'validation accuracy {accuracy:.4g} after '}{outcome.step:,} steps",
        f"resumed at step {outcome.resumed_at_step:,}" if outcome.resumed_at_step else "",
        "" if loss is None else f"loss {loss:.4g}",
        "" if rate is None else f"{rate:,.0f} samples/s",
    ]
    return ", ".join(part for part in parts if part)


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
