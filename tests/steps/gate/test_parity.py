"""The parity gate on real exports: one that is right, and ones that were changed behind its back."""

import pytest
import torch

from argosy.steps import exported_model, files
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gate import parity
from argosy.steps.gates import ParityInput
from argosy.steps.train.export import export
from argosy.steps.train.session import joined
from argosy.steps.train.surroundings import Alone

TASK = "argosy.steps.digits:Digits"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(64, 10))

    def forward(self, images):
        return self.inner(images)


def exported(folder, model, sample, more=None):
    folder.parent.mkdir(exist_ok=True)
    return export(model, sample, folder, task=TASK, hyperparameters={}, training={}, more=more)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def store(tmp_path, net):
    exported(tmp_path / "run/model", net, torch.rand(1, 8, 8), torch.rand(4, 1, 8, 8))
    return tmp_path


def judged(store, at_most=1e-6):
    folder = store / "run/model"
    fields = {
        "output": store, "task": TASK, "cache": store, "dataset_hash": "0" * 32, "models": store, "model": "run/model",
        "model_hash": files.sha256(folder / exported_model.PROGRAM), "gate": "g", "confidence": 0.95,
    }  # fmt: skip
    return parity.run(ParityInput(**fields, at_most=at_most))


def test_an_export_that_is_right_passes_on_every_sample(store):
    gate = judged(store)
    assert gate.answer == "pass"
    assert gate.verdict.samples == 5
    assert gate.verdict.bound == gate.verdict.estimate <= 1e-6


def test_one_changed_weight_of_the_exported_program_fails(store, net):
    reference = (store / "run/model" / exported_model.CARD).read_bytes()
    kept = {name: (store / "run/model" / name).read_bytes() for name in (exported_model.INPUTS, exported_model.OUTPUTS)}
    with torch.no_grad():
        net.inner[2].weight[3, 7] += 0.1
    exported(store / "run/model", net, torch.rand(1, 8, 8))
    (store / "run/model" / exported_model.CARD).write_bytes(reference)
    for name, data in kept.items():
        (store / "run/model" / name).write_bytes(data)
    gate = judged(store)
    assert gate.answer == "fail"
    assert gate.verdict.estimate > 1e-3


def test_a_difference_is_relative_to_the_largest_output():
    wanted = torch.tensor([[100.0, 0.0], [-200.0, 1.0]])
    assert parity.relative_difference(wanted + torch.tensor([0.0, 2.0]), wanted) == pytest.approx(0.01)
    assert parity.relative_difference(wanted, wanted) == 0
    assert parity.relative_difference(torch.zeros(2), torch.zeros(2)) == 0
    assert parity.relative_difference(torch.ones(2), torch.zeros(2)) == float("inf")
    assert parity.relative_difference(torch.ones(3), torch.ones(2)) == float("inf")


def test_whole_numbers_and_small_floats_are_compared_without_overflow():
    assert parity.relative_difference(torch.tensor([255], dtype=torch.uint8), torch.tensor([0], dtype=torch.uint8)) > 1
    assert parity.relative_difference(torch.tensor([0], dtype=torch.uint8), torch.tensor([200], dtype=torch.uint8)) == 1
    half = torch.tensor([60000.0], dtype=torch.float16)
    assert parity.relative_difference(-half, half) == 2


class Broken(torch.nn.Module):
    def forward(self, images):
        return torch.log(images.flatten(1) - 1)  # of no number in 0..1


def test_outputs_that_are_no_numbers_fail(tmp_path):
    exported(tmp_path / "run/model", Broken(), torch.rand(1, 8, 8))
    gate = judged(tmp_path)
    assert gate.answer == "fail"
    assert "is not finite" in gate.verdict.reason


def test_a_model_that_was_exported_without_a_reference_must_be_trained_again(store):
    path = store / "run/model" / exported_model.CARD
    card = exported_model.ModelCard.model_validate_json(path.read_bytes())
    path.write_text(card.model_copy(update={"reference": None}).model_dump_json(exclude_none=True))
    with pytest.raises(StepError, match=r"model\.json: has no reference .* train again") as caught:
        judged(store)
    assert caught.value.exit_code == ExitCode.DATA


@pytest.mark.parametrize("name", [exported_model.INPUTS, exported_model.OUTPUTS])
def test_a_reference_that_changed_or_is_gone_judges_nothing(store, name):
    path = store / "run/model" / name
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(StepError, match=f"{name}: has sha256 .* it changed after training") as caught:
        judged(store)
    assert caught.value.exit_code == ExitCode.DATA
    path.unlink()
    with pytest.raises(StepError, match=f"{name}: is missing; train again") as caught:
        judged(store)
    assert caught.value.exit_code == ExitCode.DATA


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.bool, torch.float64])
def test_the_reference_is_read_back_as_it_was_written(tmp_path, dtype):
    class Same(torch.nn.Module):
        def forward(self, values):
            return values.clone()

    values = (torch.arange(12).reshape(4, 3) % 5).to(dtype)
    card = exported(tmp_path / "run/model", Same(), values[0], values[1:])
    inputs, outputs = parity.reference(tmp_path / "run/model", card)
    assert inputs.dtype == outputs.dtype == dtype
    assert torch.equal(inputs, values)
    assert torch.equal(outputs, values)


def test_a_script_that_names_task_and_data_gets_real_samples_for_its_reference(tmp_path, shards, net):
    (tmp_path / "run").mkdir()
    with joined(Alone(models=tmp_path / "run", data=shards, task=TASK)) as session:
        session.export(net, torch.zeros(1, 8, 8))
    card = exported_model.ModelCard.model_validate_json((tmp_path / "run/model" / exported_model.CARD).read_bytes())
    inputs, _ = parity.reference(tmp_path / "run/model", card)
    assert len(inputs) == 5
    assert not inputs[0].any()
    assert all(one.any() for one in inputs[1:])
    assert judged(tmp_path).answer == "pass"
