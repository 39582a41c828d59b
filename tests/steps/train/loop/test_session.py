"""What a script can rely on, in one process and with nobody above it."""

import random
import re
import sys

import numpy as np
import pytest
import torch
from torch import nn

from argosy.steps import digits_data, serving
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.exported_model import ModelCard
from argosy.steps.train import worker
from argosy.steps.train.session import Stopped, joined
from argosy.steps.train.surroundings import Alone


def net():
    torch.manual_seed(0)
    return nn.Linear(2, 1)


def trained(session, total, draws):
    """Steps whose losses are random; `draws` are those of this attempt."""
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    session.resume(model=model, optimizer=optimizer)
    for _ in session.steps(total):
        optimizer.zero_grad()
        inputs = torch.rand(4, 2) + random.random() + np.random.rand()  # noqa: NPY002 - what augmentations draw from
        draws.append(float(inputs.sum()))
        model(inputs).mean().backward()
        optimizer.step()
        session.report(loss=draws[-1])
    return model


def test_a_script_goes_on_with_the_random_numbers_that_it_would_have_drawn(tmp_path):
    whole, parts = [], []
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - as above
    state = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002 - as above
    with joined(Alone(models=tmp_path / "whole")) as session:
        weights = trained(session, 6, whole).state_dict()
    torch.set_rng_state(state[0])
    random.setstate(state[1])
    np.random.set_state(state[2])  # noqa: NPY002 - as above
    for total in (2, 4, 6):
        with joined(Alone(models=tmp_path / "parts")) as session:
            model = trained(session, total, parts)
        torch.manual_seed(total)
        random.seed(total)
    assert parts == whole
    assert all(torch.equal(weights[name], weight) for name, weight in model.state_dict().items())


def test_alone_it_says_so_and_what_nobody_gave_is_asked_for(capsys):
    with joined() as session:
        assert (session.rank, session.size, session.resume(model=net())) == (0, 1, 0)
        for ask, words in (
            (lambda: session.data, "give joined(Alone(data=...))"),
            (lambda: session.task, "give joined(Alone(task=...))"),
            (lambda: session.export(net(), torch.zeros(2)), "give joined(Alone(models=...))"),
        ):
            with pytest.raises(StepError) as caught:
                ask()
            assert caught.value.exit_code == ExitCode.USAGE
            assert words in caught.value.message
    assert "nobody supervises this training" in capsys.readouterr().err


def test_a_loop_that_calls_back_is_told_to_stop_and_exports_nothing(tmp_path):
    answers = []

    def script():
        with joined(Alone(models=tmp_path)) as session:
            session.resume(model=net())
            session._around.stop.set()
            answers.extend(session.after_step(step, 9) for step in (1, 2))
            session.export(net(), torch.zeros(2))

    with pytest.raises(Stopped) as stopped:
        script()
    assert answers == [False, True]
    assert stopped.value.code == 0
    assert not (tmp_path / "model").exists()
    with joined(Alone(models=tmp_path)) as session:
        assert session.resume(model=net()) == 2


def test_what_has_no_state_is_refused_by_its_name():
    with joined() as session, pytest.raises(StepError, match="rate=float: has no state_dict"):
        session.resume(model=net(), rate=0.1)


def test_a_training_that_would_keep_nothing_is_refused(tmp_path):
    words = r"session.resume\(model=..., optimizer=...\) was not called"
    with joined(Alone(models=tmp_path)) as session, pytest.raises(StepError, match=words):
        session.after_step(1, 1)


def test_losses_that_reach_the_host_a_step_late_are_all_seen_before_a_checkpoint(tmp_path):
    seen, at_save = [], []
    with joined(Alone(models=tmp_path)) as session:
        session._poll._behind = 1  # as on a GPU
        session.watch(lambda losses: seen.append((losses.step, losses.mean)))
        original = session._keeper.save
        session._keeper.save = lambda *given: (at_save.append(list(seen)), original(*given))
        session.resume(model=net())
        for step in session.steps(5):
            session.report(loss=torch.tensor(float(step)))
            if step == 2:
                assert seen == []  # of step 1, which is voted on with step 2
                session.keep(0.5)
    wanted = [(step + 1, float(step)) for step in range(5)]
    assert at_save == [wanted[:3], wanted]


def test_a_measure_that_is_no_number_is_refused_at_the_export(tmp_path):
    words = re.escape("session.export: accuracy is nan")
    with joined(Alone(models=tmp_path)) as session, pytest.raises(StepError, match=words):
        session.export(net(), torch.zeros(2), accuracy=float("nan"))


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "digits"
    digits_data.main(folder)
    return folder


@pytest.mark.parametrize("sample", [torch.zeros(1, 1, 8, 8), torch.zeros(1, 8, 8, dtype=torch.float64)])
def test_a_sample_that_gates_would_not_give_the_model_is_refused_at_the_export(tmp_path, shards, sample):
    alone = Alone(models=tmp_path, data=shards, task="argosy.steps.digits:Digits")
    words = r"the sample is torch\.float.*, and a sample of the task torch\.float32 of shape \(1, 8, 8\)"
    with joined(alone) as session, pytest.raises(StepError, match=words) as caught:
        session.export(nn.Flatten(), sample)
    assert caught.value.exit_code == ExitCode.CODE


def test_the_loss_that_a_script_reported_is_the_models(tmp_path):
    with joined(Alone(models=tmp_path)) as session:
        session.export(trained(session, 3, draws := []), torch.zeros(2))
    card = ModelCard.model_validate_json((tmp_path / "model" / "model.json").read_bytes())
    assert card.training["loss"] == pytest.approx(draws[-1])


def test_an_exported_model_takes_any_batch_on_any_device(tmp_path):
    with joined(Alone(models=tmp_path)) as session:
        session.export(net(), torch.zeros(2), accuracy=0.5)
    for device in ("cpu", "meta"):
        program = serving.load_program(tmp_path / "model" / "model.pt2", device)
        assert [program(torch.zeros(size, 2, device=device)).shape for size in (1, 2, 65)] == [(1, 1), (2, 1), (65, 1)]


def test_a_script_runs_as_python_would_run_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "vision").mkdir()
    (tmp_path / "vision" / "beside.py").write_text("NAME = 'beside'")
    (tmp_path / "vision" / "own.py").write_text(
        "import sys, beside, vision.beside\nprint(__name__, sys.argv, beside.NAME)"
    )
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "argv", ["worker", "folder"])
    monkeypatch.chdir(tmp_path)
    worker._run("vision/own.py")
    assert capsys.readouterr().out == "__main__ ['vision/own.py'] beside\n"
    with pytest.raises(StepError, match="there is no such file") as caught:
        worker._run("gone.py")
    assert caught.value.exit_code == ExitCode.USAGE
