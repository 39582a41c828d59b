"""A training that was stopped gives, when it goes on, what it would have given: to the last bit."""

import pytest
import torch

from argosy.steps.digits import Digits
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints.manifest import Manifest
from argosy.steps.train.data.evaluation import rounds
from argosy.steps.train.session import Session, Stopped

EVERYTHING = {
    "accumulation": 2,
    "clip_norm": 0.5,
    "warmup_steps": 3,
    "schedule": "cosine",
    "average": 0.9,
    "evaluate_every_epochs": 1,
    "spike": 50,
}


def equal(one, other):
    return all(torch.equal(one.weights[name], other.weights[name]) for name in other.weights)


@pytest.fixture
def stop_after(monkeypatch):
    """Asks the session to stop while it makes this step: it does so at the end of the next, when all ranks know."""

    def ask(step):
        original = Session.after_step

        def after_step(self, done, total):
            if done == step:
                self._around.stop.set()
            return original(self, done, total)

        monkeypatch.setattr(Session, "after_step", after_step)

    return ask


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_training_that_was_stopped_twice_is_equal_bit_for_bit(precision, train, stop_after, tmp_path):
    settings = {**EVERYTHING, "precision": precision, "epochs": 2}
    whole = train(**settings)
    for step in (3, 6):
        stop_after(step)
        with pytest.raises(Stopped):
            train(folder=tmp_path / "stopped", **settings)
    resumed = train(folder=tmp_path / "stopped", **settings)
    assert resumed.resumed_at == 7
    assert equal(whole, resumed)
    measures = {name: whole.card.training[name] for name in ("loss", "validation_accuracy", "steps")}
    assert measures.items() <= resumed.card.training.items()


@pytest.fixture
def cut(monkeypatch):
    """Asks the session to stop when it looks so often whether it should, in the midst of its looks at the model."""
    original = Session.is_asked_to_stop

    def ask(wanted):
        calls = iter(range(1, wanted + 1))

        def is_asked_to_stop(self):
            if next(calls) == wanted:  # once more raises StopIteration
                self._around.stop.set()
            return original(self)

        monkeypatch.setattr(Session, "is_asked_to_stop", is_asked_to_stop)

    return ask


def metrics(folder):
    """What checkpoints that stay know of their models."""
    manifests = [Manifest.read(path.read_bytes()) for path in folder.glob("checkpoints/*/manifest.json")]
    return sorted((one.step, one.metric) for one in manifests)


def test_a_stop_cuts_a_look_short_and_the_next_attempt_begins_with_it(train, cut, monkeypatch, tmp_path):
    settings = {**EVERYTHING, "epochs": 3, "batch_size": 16}
    stopped = tmp_path / "stopped"
    whole = train(folder=tmp_path / "whole", **settings)
    per_look = rounds(whole.trainer._validation, 1, 16)
    assert per_look > 2
    for number in (per_look + 2, 1, per_look, per_look + 1):
        cut(number)
        with pytest.raises(Stopped):
            train(folder=stopped, **settings)
    monkeypatch.undo()
    resumed = train(folder=stopped, **settings)
    assert resumed.resumed_at == resumed.card.training["steps"]
    assert equal(whole, resumed)
    assert resumed.trainer._looks.state_dict() == whole.trainer._looks.state_dict()
    assert metrics(stopped) == metrics(tmp_path / "whole")


def test_a_stop_between_the_end_and_the_model_needs_no_step_again(train, monkeypatch, tmp_path):
    def interrupted(session, *_given, **_measured):
        session._keeper.finish()
        raise KeyboardInterrupt

    whole = train(epochs=2)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "export", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(epochs=2, folder=tmp_path / "stopped")
    torch.distributed.destroy_process_group()
    resumed = train(epochs=2, folder=tmp_path / "stopped")
    assert (resumed.resumed_at, resumed.reports) == (10, [])
    assert equal(whole, resumed)
    assert resumed.card.training["validation_accuracy"] == whole.card.training["validation_accuracy"]


@pytest.mark.parametrize("prompt", [0.0, 1e9])
def test_a_slow_step_stops_at_its_end_and_a_fast_one_a_step_later(prompt, train, stop_after, monkeypatch, tmp_path):
    monkeypatch.setattr("argosy.steps.train.session.PROMPT_SECONDS", prompt)
    stop_after(3)
    with pytest.raises(Stopped):
        train(folder=tmp_path / "stopped", epochs=2)
    monkeypatch.undo()
    assert train(folder=tmp_path / "stopped", epochs=2).resumed_at == (4 if prompt else 3)


def spoiled(monkeypatch, step, factor):
    losses = iter(range(1000))
    original = Digits.loss
    monkeypatch.setattr(
        Digits, "loss", lambda self, *given: original(self, *given) * (factor if next(losses) == step - 1 else 1)
    )


def test_a_loss_that_is_no_number_ends_the_training_and_the_checkpoint_is_from_before(train, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        spoiled(patch, step=18, factor=float("nan"))
        words = "loss is nan at step 18; lower the learning rate, .*; last checkpoint 15 is from before"
        with pytest.raises(StepError, match=words):
            train(folder=tmp_path / "spoiled", epochs=4, evaluate_every_epochs=3)
    torch.distributed.destroy_process_group()
    resumed = train(folder=tmp_path / "spoiled", epochs=4, evaluate_every_epochs=3)
    assert resumed.resumed_at == 15
    assert equal(train(epochs=4, evaluate_every_epochs=3), resumed)


def test_weights_that_are_no_numbers_are_not_kept_though_the_loss_was_one(train, monkeypatch, tmp_path):
    original = torch.optim.AdamW.step

    def step(self, *given, **named):
        original(self, *given, **named)
        with torch.no_grad():
            self.param_groups[0]["params"][0].fill_(float("inf"))

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    words = "weights are no finite numbers after step 1; .*; there is no checkpoint from before"
    with pytest.raises(StepError, match=words):
        train(folder=tmp_path / "spoiled", batch_size=320)
    assert not list((tmp_path / "spoiled" / "checkpoints").glob("step-*"))


def test_a_loss_that_leaps_ends_the_training_when_the_setting_says_so(train, monkeypatch):
    spoiled(monkeypatch, step=24, factor=1000)
    with pytest.raises(StepError, match=r"loss is \S+ at step 24, \S+ times the median of the 23 steps before"):
        train(epochs=6, spike=10)
