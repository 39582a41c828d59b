"""Each setting of the loop does what its description says."""

import math
from collections import Counter
from functools import partial

import pytest
import torch

from argosy.steps.contracts import ExitCode, Loop
from argosy.steps.digits import Digits
from argosy.steps.errors import StepError
from argosy.steps.train import advance
from argosy.steps.train.poll import Losses
from argosy.steps.train.schedule import Schedule
from argosy.steps.train.trainer import Trainer
from argosy.steps.train.watching import Looks, Spikes


def distance(one, other):
    return max(float((one.weights[name] - other.weights[name]).abs().max()) for name in one.weights)


def test_accumulation_gives_the_same_weights_up_to_rounding_in_as_many_passes(train, monkeypatch):
    whole = train()
    passes = Counter()
    original = advance.output_of

    def counted(model, task, inputs):
        passes[len(inputs)] += model.training
        return original(model, task, inputs)

    monkeypatch.setattr(advance, "output_of", counted)
    parts = train(accumulation=3)
    assert 0 < distance(whole, parts) < 1e-4
    assert passes == {21: 10, 22: 5}


def test_more_parts_than_samples_are_as_many_as_there_are_samples(train):
    assert distance(train(batch_size=20), train(batch_size=20, accumulation=50)) < 1e-4


def test_gradients_are_cut_to_the_norm(train, monkeypatch):
    norms = []
    original = torch.optim.AdamW.step

    def step(self, *arguments, **named):
        gradients = [parameter.grad for group in self.param_groups for parameter in group["params"]]
        norms.append(float(torch.nn.utils.get_total_norm(gradients)))
        return original(self, *arguments, **named)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    train(clip_norm=0.01)
    cut, norms[:] = list(norms), []
    train()
    assert max(cut) == pytest.approx(0.01, rel=1e-3)
    assert min(norms) > 0.02


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_the_model_computes_in_the_precision_and_keeps_its_weights_in_float32(precision, train, monkeypatch):
    seen = set()
    original = Digits.loss

    def loss(self, outputs, targets):
        seen.add(outputs.dtype)
        return original(self, outputs, targets)

    monkeypatch.setattr(Digits, "loss", loss)
    done = train(precision=precision)
    assert seen == {getattr(torch, precision)}
    assert {weight.dtype for weight in done.weights.values()} == {torch.float32}
    assert done.card.training["loss"] < math.log(10)


def test_only_float16_scales_its_loss(train):
    assert train(precision="float16").trainer._advance.scaler.is_enabled()
    assert not train(precision="bfloat16").trainer._advance.scaler.is_enabled()


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, [1, 1, 1, 1, 1]),
        ({"warmup_steps": 2}, [0.5, 1, 1, 1, 1]),
        ({"schedule": "linear"}, [1, 0.8, 0.6, 0.4, 0.2]),
        ({"warmup_steps": 1, "schedule": "cosine"}, [1, 1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]),
    ],
)
def test_the_learning_rate_takes_its_course(settings, wanted, train):
    rates = [report["learning_rate"] for report in train(**settings).reports]
    assert rates == pytest.approx([0.003 * factor for factor in wanted])


def test_the_learning_rate_depends_on_the_step_alone():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2)
    schedule = Schedule(optimizer, Loop(schedule="linear"), total=4)
    assert [schedule.apply(step) for step in (3, 0, 3)] == [0.5, 2, 0.5]
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_the_average_of_the_weights_is_exported(train):
    last, averaged = train(), train(average=0.9)
    assert distance(last, averaged) > 1e-3
    model = averaged.trainer._model.state_dict()
    assert max(float((model[name] - last.weights[name]).abs().max()) for name in model) == 0


def test_compiled_training_gives_the_same_weights_up_to_rounding(train, monkeypatch):
    # All of it but the last part, which takes a C++ compiler half a minute.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    compiled = train(compile=True)
    assert isinstance(compiled.trainer._advance.parallel.module, torch._dynamo.OptimizedModule)
    assert distance(train(), compiled) < 1e-4


def test_without_a_compiler_compile_is_refused_with_the_remedy(train, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(StepError, match=r"compile: torch.compile needs a C\+\+ compiler") as caught:
        train(compile=True)
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_the_validation_split_is_looked_at_every_so_many_epochs_and_at_the_end(train):
    done = train(epochs=5, evaluate_every_epochs=2)
    assert [index + 1 for index, report in enumerate(done.reports) if "validation_accuracy" in report] == [10, 20, 25]


def fingerprint(weights):
    return {name: weight.sum().item() for name, weight in weights.items()}


WORSE_AND_WORSE = [0.5, 0.9, 0.8, 0.7, 0.6, 0.95]


@pytest.fixture
def looked_at(monkeypatch):
    """The looks see WORSE_AND_WORSE, one after the other. Step -> the weights that were looked at."""
    given, seen = iter(WORSE_AND_WORSE), {}

    def accuracy(trainer):
        seen[trainer._session.step + 1] = fingerprint(trainer._judged.state_dict())
        return next(given)

    monkeypatch.setattr(Trainer, "_accuracy", accuracy)
    return seen


def test_training_ends_when_so_many_looks_were_no_better_and_the_best_model_is_exported(train, looked_at):
    stopped = train(epochs=6, evaluate_every_epochs=1, patience=3)
    assert stopped.card.training["steps"] == 25
    assert stopped.card.training["validation_accuracy"] == 0.9
    last = stopped.trainer._looks.last_step
    assert (stopped.trainer._looks.best_step, last) == (10, 25)
    assert looked_at[10] == fingerprint(stopped.weights)
    assert looked_at[25] != fingerprint(stopped.weights)


def test_looks_know_their_best_and_are_enough_after_patience():
    looks = Looks()
    for step, accuracy in enumerate(WORSE_AND_WORSE[:4], 1):
        looks.add(step, accuracy)
    assert (looks.best_step, looks.last_step) == (2, 4)
    assert [looks.are_enough(patience) for patience in (0, 1, 2, 3)] == [False, True, True, False]


def test_a_loss_that_leaps_ends_the_training_with_its_size():
    spikes = Spikes(5.0, lambda what: StepError(ExitCode.CODE, what))
    for step in range(1, 31):
        spikes.add(Losses(step, 2.0, 1))
    spikes.add(Losses(31, 9.9, 1))
    words = "loss is 10.1 at step 32, 5.0 times the median of the 31 steps before"
    with pytest.raises(StepError, match=words):
        spikes.add(Losses(32, 10.1, 1))
    Spikes(None, lambda what: StepError(ExitCode.CODE, what)).add(Losses(1, 1e9, 1))


def test_the_first_steps_are_no_spikes():
    spikes = Spikes(2.0, lambda what: StepError(ExitCode.CODE, what))
    for step, loss in enumerate([1, 100, 1000], 1):
        spikes.add(Losses(step, loss, 1))
