"""Shards that webdataset would silently read in part are refused, by shard and member."""

import io
import tarfile

import pytest
import torch

from argosy.steps import samples
from argosy.steps.contracts import ExitCode
from argosy.steps.digits import Digits
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from argosy.steps.errors import StepError

GOOD = [("0.pixels", bytes(64)), ("0.cls", b"3"), ("1.pixels", bytes(64)), ("1.cls", b"4")]


@pytest.fixture
def task():
    return Digits(DigitsHyperparameters())


@pytest.fixture
def shard(tmp_path):
    def write(members, name="train-0.tar"):
        with tarfile.open(tmp_path / name, "w", format=tarfile.USTAR_FORMAT) as archive:
            for member, content in members:
                info = tarfile.TarInfo(member)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return tmp_path / name

    return write


def refusal(task, folder, split="train"):
    with pytest.raises(StepError) as caught:
        samples.load(task, folder, split)
    assert caught.value.exit_code == ExitCode.DATA
    return caught.value.message


def test_every_sample_is_read_in_the_order_of_the_shards(task, shard, tmp_path):
    shard(GOOD, "train-1.tar")
    shard([("9.pixels", bytes(64)), ("9.cls", b"9")], "train-0.tar")
    assert [sample.key for sample in samples.read(tmp_path, "train")] == ["9", "0", "1"]
    loaded = samples.load(task, tmp_path, "train")
    assert loaded.targets.tolist() == [9, 3, 4]
    assert loaded.inputs.shape == (3, 1, 8, 8)


def test_a_split_without_shards_is_refused(task, tmp_path):
    assert "has no train-*.tar" in refusal(task, tmp_path)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([], "holds no samples"),
        ([*GOOD, ("1.cls", b"5")], "member 1.cls at byte 4096 stands twice"),
        ([*GOOD, ("1.CLS", b"5")], "member 1.CLS at byte 4096 stands twice"),
        ([*GOOD, ("0.cls", b"5")], "member 0.cls at byte 4096 stands apart"),
        ([*GOOD, ("README", b"hello")], "member README at byte 4096 has no extension"),
    ],
)
def test_members_that_would_be_lost_are_named(members, words, task, shard, tmp_path):
    path = shard(members)
    message = refusal(task, tmp_path)
    assert message.startswith(f"{path}: ")
    assert words in message


@pytest.mark.parametrize("length", [0, 100, 512, 600, 1024, 2100, 4096, 4096 + 512])
def test_a_shard_that_ends_early_is_refused_wherever_it_ends(length, task, shard, tmp_path):
    path = shard(GOOD)
    path.write_bytes(path.read_bytes()[:length])
    assert refusal(task, tmp_path).startswith(f"{path}: ")


def test_a_link_is_no_sample(task, shard, tmp_path):
    path = shard(GOOD)
    with tarfile.open(path, "a") as archive:
        link = tarfile.TarInfo("2.cls")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert "2.cls at byte 4096 is no regular file" in refusal(task, tmp_path)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([("7.cls", b"3")], "sample 7: has no member 'pixels'; its members are cls"),
        ([("7.pixels", b"short"), ("7.cls", b"3")], "sample 7: pixels are not 64 bytes"),
        ([("7.pixels", b"\xff" * 64), ("7.cls", b"3")], "sample 7: pixels are not 64 bytes of 0..16"),
        ([("7.pixels", bytes(64)), ("7.cls", b"x")], "sample 7: cls is b'x'"),
        ([("7.pixels", bytes(64)), ("7.cls", b"10")], "sample 7: cls is b'10'"),
        ([("22.05.pixels", bytes(64)), ("22.05.cls", b"3")], "sample 22: has no member 'pixels'"),
        ([("22.05.pixels", bytes(64)), ("22.05.cls", b"3")], "are 05.cls, 05.pixels (a key ends at its first dot)"),
    ],
)
def test_a_sample_that_the_task_refuses_is_named_with_its_shard(members, words, task, shard, tmp_path):
    path = shard([*GOOD, *members])
    message = refusal(task, tmp_path)
    assert message.startswith(f"{path}: ")
    assert words in message


def test_samples_of_different_shapes_are_refused(shard, tmp_path):
    class Ragged(Digits):
        def sample(self, members):
            return torch.zeros(int(members["cls"])), torch.tensor(0)

    shard(GOOD)
    assert "differ in shape" in refusal(Ragged(DigitsHyperparameters()), tmp_path)


def test_an_error_in_the_users_code_keeps_its_kind_and_names_the_sample(shard, tmp_path):
    class Broken(Digits):
        def sample(self, members):
            return members["absent"], members

    path = shard(GOOD)
    with pytest.raises(KeyError) as caught:
        samples.load(Broken(DigitsHyperparameters()), tmp_path, "train")
    assert caught.value.__notes__ == [f"while reading sample 0 of {path}"]
