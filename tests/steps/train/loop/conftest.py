"""argosy's own loop: in this very process, one rank without a supervisor; and under the real step."""

import re
import signal
from types import SimpleNamespace

import pytest
import torch

from argosy.steps import exported_model, serving
from argosy.steps.contracts import Loop, TrainInput, TrainOutput
from argosy.steps.train.session import Session, joined
from argosy.steps.train.surroundings import Alone
from argosy.steps.train.trainer import Trainer

TASK = "argosy.steps.digits:Digits"


@pytest.fixture
def train(shards, tmp_path, monkeypatch):
    """Trains a few steps. Gives `weights` of the exported model, its `card`, and the `reports` of all steps."""
    numbers = iter(range(100))

    def trained(*, task=TASK, epochs=1, batch_size=64, folder=None, seed=0, **loop):
        models = folder or tmp_path / f"models-{next(numbers)}"
        reports = []

        def report(self, **measured):
            reports.append({name: float(value) for name, value in measured.items()})
            ORIGINAL(self, **measured)

        monkeypatch.setattr(Session, "report", report)
        inputs = TrainInput(
            output=tmp_path, task=task, cache=tmp_path, dataset_hash="0" * 32, models=models, run="r", ranks=1,
            checkpoint_every_seconds=60, checkpoints_kept=2, seed=seed, loop=Loop(**loop),
        )  # fmt: skip
        hyperparameters = {"epochs": epochs, "batch_size": batch_size, "dropout": 0}
        alone = Alone(data=shards, models=models, task=task, hyperparameters=hyperparameters, seed=seed)
        with joined(alone) as session:
            trainer = Trainer(session, inputs)
            trainer.train()
        program = serving.load_program(models / "model" / exported_model.PROGRAM)
        card = exported_model.ModelCard.model_validate_json((models / "model" / exported_model.CARD).read_bytes())
        return SimpleNamespace(
            weights=program.state_dict(), card=card, reports=reports, resumed_at=session.resumed_at, trainer=trainer
        )

    return trained


ORIGINAL = Session.report


@pytest.fixture(autouse=True)
def _no_group_is_left():
    yield
    if torch.distributed.is_initialized():  # a training that failed leaves it to the end of its process
        torch.distributed.destroy_process_group()


@pytest.fixture
def supervised(training, run_step, start_step, tmp_path):
    """Trainings under the real step: `finished` gives what came out, `stopped` sends a signal after some steps."""
    common = {**training, "models": tmp_path / "models", "output": tmp_path / "output"}

    def finished(**fields):
        done = run_step("train", **{**common, **fields})
        assert done.exit_code == 0, done.stderr
        return TrainOutput.model_validate_json((tmp_path / "output" / "record.json").read_bytes())

    def stopped(stop, *, least, **fields):
        with start_step("train", **{**common, **fields}) as process:
            for line in process.stderr:
                step = re.match(r"step ([\d,]+)/", line)
                if step and int(step[1].replace(",", "")) >= least:
                    process.send_signal(stop)
                    break
            process.communicate(timeout=60)
        assert process.returncode == {signal.SIGKILL: -9, signal.SIGTERM: 143}[stop]

    return SimpleNamespace(finished=finished, stopped=stopped, models=tmp_path / "models")
