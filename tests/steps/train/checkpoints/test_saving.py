"""What is saved comes back as it was, and what cannot be saved is named."""

import math
import os
import queue
import threading
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import nn

from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints import store
from argosy.steps.train.checkpoints.bucket import Bucket
from argosy.steps.train.checkpoints.folder import Folder

STATES = {
    "numbers": {"a": 1, "b": -2.5, "c": True, "d": None, "big": 2**80, "tiny": 5e-324},
    "not finite": {"inf": math.inf, "minus": -math.inf},
    "texts": {"text": "é\n", "bytes": b"\x00\xff", "empty": ""},
    "containers": {
        "list": [1, [2, (3, "x")]],
        "tuple": (0.9, 0.999),
        "none": {},
        "nothing": [],
        "deep": {"a": {"b": 1}},
    },
    "keys": {0: "number", "0 text": "text", -1: {2: 3}},
    "words of the frame": {"tensor": "x", "dict": [1], "bytes": "no", "float": "nan"},
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_what_is_no_tensor_comes_back_equal_and_of_the_same_kind(state, save, resume):
    save(1, given=state)
    _, found = resume()
    assert repr(found["given"]) == repr(state)


TENSORS = {
    "empty": torch.empty(0, 3),
    "scalar": torch.tensor(3.5),
    "bool": torch.tensor([True, False, True]),
    "bfloat16": torch.randn(3, 5).bfloat16(),
    "float8": torch.randn(9).to(torch.float8_e4m3fn),
    "complex": torch.randn(3, dtype=torch.complex128),
    "int8": torch.arange(7, dtype=torch.int8),
    "transposed": torch.randn(5, 7).T,
    "every second": torch.arange(20)[::2],
    "parameter": nn.Parameter(torch.randn(2, 2)),
    "expanded": torch.tensor([1.0]).expand(6),
    "large": torch.arange(5_000_000),
}


def raw(tensor):
    """Its bytes."""
    return tensor.detach().contiguous().flatten().view(torch.uint8)


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_every_kind_of_tensor_comes_back_bit_for_bit(tensor, save, resume):
    save(1, given=[tensor, {"again": tensor}])
    found = resume()[1]["given"]
    for one in (found[0], found[1]["again"]):
        assert (one.dtype, one.shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(raw(one), raw(tensor))


def built():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=3),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10),
        ],
        milestones=[3],
    )
    return {"model": model, "optimizer": optimizer, "schedule": schedule, "scaler": torch.amp.GradScaler("cpu")}


def trained(parts, steps):
    for step in steps:
        torch.manual_seed(step)
        parts["optimizer"].zero_grad()
        parts["model"](torch.randn(6, 4)).square().mean().backward()
        parts["optimizer"].step()
        parts["schedule"].step()


def test_a_training_goes_on_as_if_it_had_not_been_interrupted(open_checkpoints):
    whole, first, second = built(), built(), built()
    first["model"].load_state_dict(whole["model"].state_dict())
    trained(whole, range(10))
    trained(first, range(5))
    checkpoints = open_checkpoints()
    checkpoints.save(5, first)
    trained(first, range(5, 7))  # what is saved is the state at the moment of the save
    checkpoints.finish()
    assert open_checkpoints().resume(second) == 5
    trained(second, range(5, 10))
    for name, part in whole.items():
        torch.testing.assert_close(part.state_dict(), second[name].state_dict(), rtol=0, atol=0)


class Named(NamedTuple):
    number: int


REFUSED = {
    "a set": ({1}, "part/given/0 is a builtins.set"),
    "a function": (len, "is a builtins.builtin_function_or_method"),
    "an object": (threading.Event(), "is a threading.Event"),
    "a named tuple": (Named(1), "Named"),
    "a sparse tensor": (torch.eye(2).to_sparse(), "is a tensor that is sparse"),
    "a tensor without values": (torch.empty(2, device="meta"), "without values"),
    "a key": ({(1, 2): 3}, "has a key that is a tuple"),
}


@pytest.mark.parametrize(("value", "said"), REFUSED.values(), ids=REFUSED)
def test_what_a_checkpoint_cannot_hold_is_named_and_nothing_is_saved(value, said, save, folders):
    with pytest.raises(StepError) as caught:
        save(1, given=[value])
    assert caught.value.exit_code == ExitCode.CODE
    assert said in caught.value.message
    assert "checkpoint: part/given/0 " in caught.value.message
    assert folders() == []


def test_the_step_waits_for_the_copy_and_not_for_the_disk(open_checkpoints, values, tmp_path):
    goes_on = threading.Event()

    class Slow(Folder):
        def write(self, *words):
            assert goes_on.wait(30)
            super().write(*words)

    checkpoints = open_checkpoints(Slow(tmp_path / "checkpoints"))
    part = values(tensor=torch.zeros(3))
    checkpoints.save(1, {"part": part})
    part.values["tensor"] += 1
    assert checkpoints.committed == 0
    goes_on.set()
    checkpoints.finish()
    assert checkpoints.committed == 1
    again = values()
    open_checkpoints().resume({"part": again})
    assert again.values["tensor"].tolist() == [0, 0, 0]


def test_the_next_save_waits_for_the_one_before_and_memory_is_used_again(open_checkpoints, values):
    checkpoints = open_checkpoints()
    part = values(tensor=torch.zeros(1000))
    seen = set()
    for step in range(1, 4):
        checkpoints.save(step, {"part": part})
        seen.add(checkpoints._image._memory.data_ptr())
        assert checkpoints.committed >= step - 1
    checkpoints.finish()
    assert len(seen) == 1
    assert checkpoints.save_seconds > 0


def test_a_checkpoint_is_told_of_as_soon_as_it_counts_and_not_before(open_checkpoints, values, tmp_path):
    commits, told = threading.Event(), queue.SimpleQueue()

    class Slow(Folder):
        def commit(self, *words):
            assert commits.wait(60)
            super().commit(*words)

    checkpoints = open_checkpoints(
        Slow(tmp_path / "checkpoints"), told=lambda step: told.put((step, checkpoints.committed))
    )
    assert checkpoints.resume({"part": values()}) == 0
    assert told.get(timeout=60) == (0, 0)
    checkpoints.save(4, {"part": values()})
    assert told.empty()
    commits.set()
    assert told.get(timeout=60) == (4, 4)  # nobody has waited for the save
    assert open_checkpoints(told=told.put).resume({"part": values()}) == told.get(timeout=60) == 4


def test_a_checkpoint_is_on_the_disk_part_by_part_before_it_counts(save, folders, monkeypatch):
    done = []
    fsync, rename = os.fsync, Path.rename
    monkeypatch.setattr(os, "fsync", lambda file: done.append(os.fstat(file).st_ino) or fsync(file))
    monkeypatch.setattr(Path, "rename", lambda path, to: done.append("renamed") or rename(path, to))
    save(1)
    (folder,) = folders()
    part, manifest, itself, around = (
        path.stat().st_ino for path in (folder / "part-00000.bin", folder / "manifest.json", folder, folder.parent)
    )
    assert done == [part, manifest, itself, "renamed", around]


def test_a_checkpoint_stays_although_an_older_one_cannot_be_removed(open_checkpoints, values, tmp_path, folders):
    class Stuck(Folder):
        def remove(self, name):
            raise StepError(ExitCode.TEMPORARY, f"{name}: cannot be removed")

    told = []
    checkpoints = open_checkpoints(Stuck(tmp_path / "checkpoints"), told=told.append)
    for step in (1, 2, 3):
        checkpoints.save(step, {"part": values()})
    with pytest.raises(StepError, match=r"step-00000001-\w+: cannot be removed"):
        checkpoints.finish()
    assert checkpoints.committed == told[-1] == 3
    assert [int(folder.name.split("-")[1]) for folder in folders()] == [1, 2, 3]
    assert open_checkpoints().resume({"part": values()}) == 3


def test_as_many_as_asked_for_stay_and_the_best_one_too(open_checkpoints, values, folders):
    checkpoints = open_checkpoints(kept=2)
    for step, metric in ((1, -5.0), (2, -1.0), (3, -2.0), (4, None), (5, math.nan)):
        checkpoints.save(step, {"part": values()}, metric=metric)
    checkpoints.finish()
    assert [int(folder.name.split("-")[1]) for folder in folders()] == [2, 4, 5]


def test_the_best_one_is_restored_into_those_parts_that_are_asked_for(open_checkpoints, values, folders, capsys):
    checkpoints = open_checkpoints()
    for step, metric in ((1, 0.5), (2, 0.9), (3, 0.7), (4, None)):
        checkpoints.save(step, {"model": values(step=step), "optimizer": values(step=step)}, metric=metric)
    model = values()
    assert checkpoints.restore_best({"model": model}) == 2
    assert model.values == {"step": 2}
    assert checkpoints.committed == 4
    (folders()[0] / "manifest.json").write_text("")
    again = open_checkpoints()
    assert again.restore_best({"model": model}) == 3
    assert "is damaged" in capsys.readouterr().err


def test_without_a_metric_there_is_no_best_one(save, values):
    assert save(1, 2).restore_best({"part": values()}) == 0


def test_never_fewer_than_two_stay_and_those_of_an_earlier_attempt_are_counted(save, open_checkpoints, folders):
    save(1, 2, 3)
    save(4, checkpoints=open_checkpoints(kept=0))
    assert [int(folder.name.split("-")[1]) for folder in folders()] == [3, 4]


def test_the_same_step_may_be_saved_again(save, resume, folders):
    save(1, 2, given="before")
    save(2, given="behind")
    assert resume()[1]["given"] == "behind"
    assert len(folders()) == 2


def test_an_attempt_that_is_fenced_off_commits_removes_and_sweeps_nothing(save, open_checkpoints, values, folders):
    save(1, 2)
    before = folders()

    def fence():
        raise StepError(ExitCode.TEMPORARY, "another attempt owns the run")

    old = open_checkpoints(fence=fence)
    (before[0].parent / ".partial-of-the-younger-one").mkdir()
    with pytest.raises(StepError, match="another attempt"):
        old.resume({"part": values()})
    assert (before[0].parent / ".partial-of-the-younger-one").exists()
    old.save(3, {"part": values()})
    with pytest.raises(StepError, match="another attempt") as caught:
        old.finish()
    assert caught.value.exit_code == ExitCode.TEMPORARY
    assert folders() == before


def test_a_checkpoint_of_other_data_is_refused_with_both_hashes(save, resume, folders):
    save(7)
    with pytest.raises(StepError) as caught:
        resume(dataset_hash="1" * 32)
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert (
        caught.value.message
        == f"checkpoint of step 7: was trained on data {'0' * 32} and not {'1' * 32}; give another --run"
    )
    assert len(folders()) == 1


def test_a_model_of_another_shape_or_a_new_part_is_refused_in_words(open_checkpoints):
    checkpoints = open_checkpoints()
    checkpoints.save(3, {"model": nn.Linear(2, 3)})
    checkpoints.finish()
    with pytest.raises(StepError, match=r"checkpoint of step 3: its model does not fit: .*size mismatch") as caught:
        open_checkpoints().resume({"model": nn.Linear(2, 4)})
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    with pytest.raises(StepError, match="checkpoint of step 3: holds no average; give another --run"):
        open_checkpoints().resume({"model": nn.Linear(2, 3), "average": nn.Linear(2, 3)})


def test_a_store_is_a_folder_of_the_run_or_a_folder_in_a_bucket(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    given = {
        "output": tmp_path, "task": "a:B", "cache": tmp_path, "dataset_hash": "0" * 32, "models": tmp_path / "models",
        "run": "r", "ranks": 1, "checkpoint_every_seconds": 1, "checkpoints_kept": 2,
    }  # fmt: skip
    folder = store(TrainInput(**given))
    assert isinstance(folder, Folder)
    assert folder.place("x") == str(tmp_path / "models/r/checkpoints/x")
    bucket = store(TrainInput(**given, checkpoint_store="s3://b/p"))
    assert isinstance(bucket, Bucket)
    assert bucket.place("x") == "s3://b/p/r/x"
