"""Checkpoints are whole, few, and never trusted blindly."""

import pytest
import torch

from argosy.steps import files
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints import Checkpoints


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path, kept=2)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_comes_back_and_the_oldest_go(checkpoints, tmp_path):
    assert checkpoints.newest() == 0
    for step in (9, 10, 100):
        checkpoints.save(step, {"x": torch.tensor(step)})
    assert names(tmp_path) == ["step-00000010", "step-00000100"]
    assert checkpoints.newest() == 100
    assert checkpoints.load(100) == {"x": torch.tensor(100)}


@pytest.mark.parametrize("file", ["state.pt", "manifest.json"])
@pytest.mark.parametrize("damage", [lambda data: data[:-2], lambda _: b"", lambda data: data[:20] + b"!" + data[21:]])
def test_a_damaged_one_is_named_and_the_one_before_is_taken(file, damage, checkpoints, tmp_path, capsys):
    for step in (1, 2):
        checkpoints.save(step, {"x": step})
    path = tmp_path / "step-00000002" / file
    path.write_bytes(damage(path.read_bytes()))
    assert checkpoints.newest() == 1
    assert f"{path.parent}: is damaged" in capsys.readouterr().err
    checkpoints.save(3, {"x": 3})
    assert names(tmp_path) == ["step-00000001", "step-00000003"]


def test_a_save_that_fails_leaves_what_was_there(checkpoints, tmp_path, monkeypatch):
    checkpoints.save(1, {"x": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(OSError, match="No space"):
        checkpoints.save(2, {"x": 2})
    assert checkpoints.newest() == 1
    assert names(tmp_path) == ["step-00000001"]


def test_the_same_step_may_be_saved_again(checkpoints):
    checkpoints.save(1, {"x": 1})
    checkpoints.save(1, {"x": 2})
    assert checkpoints.load(1) == {"x": 2}


def test_what_is_saved_again_is_in_its_place_before_the_old_one_is_removed(checkpoints, monkeypatch):
    checkpoints.save(1, {"x": 1})
    remove, seen = files.remove_folder, []

    def removed(folder):
        seen.append(checkpoints.load(1))
        remove(folder)

    monkeypatch.setattr(files, "remove_folder", removed)
    checkpoints.save(1, {"x": 2})
    assert seen == [{"x": 2}]


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_that_would_run_code_is_refused_and_does_not_run(checkpoints, tmp_path):
    checkpoints.save(1, {"x": Evil(tmp_path / "ran")})
    with pytest.raises(StepError, match="holds more than tensors") as caught:
        checkpoints.load(checkpoints.newest())
    assert caught.value.exit_code == ExitCode.DATA
    assert not (tmp_path / "ran").exists()
