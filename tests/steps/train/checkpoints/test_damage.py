"""A checkpoint that is not as written is never loaded, never runs, and never stands in the way of the one before."""

import errno
import json
import os
import pickle
from pathlib import Path

import pytest
import torch

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.stage.failures import Wrong
from argosy.steps.train.checkpoints.manifest import BLOCK, Manifest

FILES = ("part-00000.bin", "manifest.json")


def flipped(place):
    def damage(path):
        content = bytearray(path.read_bytes())
        content[int(place * (len(content) - 1))] ^= 1
        path.write_bytes(content)

    return damage


DAMAGES = {
    "a flipped bit at the start": flipped(0.0),
    "in the middle": flipped(0.5),
    "at the end": flipped(1.0),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "empty": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
    "nonsense": lambda path: path.write_bytes(b"{}" * 40),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_one_is_named_with_the_reason_set_aside_and_the_one_before_is_taken(
    *, file, damage, save, resume, folders, capsys
):
    save(1, 2)
    before, damaged = folders()
    damage(damaged / file)
    step, found = resume()
    assert (step, found["step"], found["tensor"][0].item()) == (1, 1, 1)
    assert capsys.readouterr().err.startswith(f"checkpoint {damaged}: is damaged: ")
    assert folders() == [before]
    assert (damaged.parent / f"damaged-{damaged.name}").exists()
    save(3)
    assert len(folders()) == 2, "what is set aside does not count among those kept"
    assert resume()[0] == 3
    assert not list(damaged.parent.glob("damaged-*")), "the next attempt removes it"


def test_every_single_flipped_bit_of_a_manifest_is_seen(save, folders):
    save(1)
    text = (folders()[0] / "manifest.json").read_bytes()
    assert json.loads(text)["manifest"]["step"] == 1
    Manifest.read(text)
    for place in range(len(text)):
        for bit in (1, 16):
            changed = bytearray(text)
            changed[place] ^= bit
            with pytest.raises(Wrong):
                Manifest.read(bytes(changed))


def test_where_all_are_damaged_nothing_is_loaded_and_the_parts_are_untouched(save, resume, folders, capsys):
    save(1, 2)
    for folder in folders():
        flipped(0.1)(folder / "part-00000.bin")
    assert resume() == (0, {})
    assert capsys.readouterr().err.count("is damaged") == 2


def test_a_bit_in_the_last_block_of_a_large_part_is_seen(save, resume, folders):
    large = torch.zeros(2 * BLOCK // 8 + 1000, dtype=torch.int64)
    save(1, 2, given=large)
    flipped(0.999)(folders()[1] / "part-00000.bin")
    assert resume()[0] == 1


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("write", [pickle.dumps, None], ids=["pickle", "torch.save"])
def test_a_pickle_that_would_run_code_does_not_run_whichever_file_it_is_in(
    *, file, write, save, resume, folders, tmp_path
):
    save(1, 2)
    path = folders()[1] / file
    if write:
        path.write_bytes(write(Bomb(tmp_path / "ran")))
    else:
        torch.save({"x": Bomb(tmp_path / "ran")}, path)
    assert resume()[0] == 1
    assert not (tmp_path / "ran").exists()


def sealed(folder, change):
    """A manifest that was changed by someone who knows how it is sealed."""
    text = json.loads((folder / "manifest.json").read_bytes())["manifest"]
    change(text)
    manifest = Manifest.model_construct(**text)
    (folder / "manifest.json").write_bytes(manifest.written())


def outside(manifest):
    manifest["tensors"]["part/tensor"]["boxes"][0]["start"] = 10**9


def huge(manifest):
    manifest["tensors"]["part/tensor"]["shape"] = [10**15]


def no_dtype(manifest):
    manifest["tensors"]["part/tensor"]["dtype"] = "nn"


def short(manifest):
    manifest["tensors"]["part/tensor"]["boxes"][0]["sizes"] = [999]


def no_frame(manifest):
    manifest["frames"][0]["start"] = 0


@pytest.mark.parametrize("change", [outside, huge, no_dtype, short, no_frame])
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_manifest_that_lies_with_the_right_hash_is_damage_too(change, save, resume, folders):
    save(1, 2)
    sealed(folders()[1], change)
    assert resume()[0] == 1


def test_what_a_killed_attempt_left_half_written_is_swept_by_the_next(save, resume, folders):
    save(1)
    half = folders()[0].parent / ".partial-step-00000002-00000000"
    half.mkdir()
    (half / "part-00000.bin").write_bytes(b"half")
    assert resume()[0] == 1
    assert not half.exists()


def test_a_disk_that_cannot_read_is_damage_and_a_store_that_is_away_is_not(save, resume, folders, monkeypatch):
    save(1, 2)
    real = os.preadv

    def failing(number):
        def preadv(descriptor, *words):
            if folders()[-1].name.startswith("step-00000002"):
                raise OSError(number, os.strerror(number))
            return real(descriptor, *words)

        monkeypatch.setattr(os, "preadv", preadv)

    failing(errno.ESTALE)
    with pytest.raises(StepError) as caught:
        resume()
    assert caught.value.exit_code == ExitCode.TEMPORARY
    assert len(folders()) == 2
    failing(errno.EIO)
    assert resume()[0] == 1


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (errno.ENOSPC, ExitCode.CONFIGURATION, "has no room for the .* bytes of a checkpoint's part; the checkpoints"),
        (errno.EDQUOT, ExitCode.CONFIGURATION, "give the model store more space"),
        (errno.EROFS, ExitCode.CONFIGURATION, "a checkpoint may not be written: Read-only file system"),
        (errno.EACCES, ExitCode.CONFIGURATION, "give this user the right to write"),
        (errno.EIO, ExitCode.TEMPORARY, "a checkpoint cannot be kept: Input/output error"),
    ],
)
def test_a_save_that_fails_is_told_by_the_next_call_and_leaves_what_was_there(
    *, number, code, said, save, resume, open_checkpoints, folders, monkeypatch
):
    checkpoints = open_checkpoints()
    save(1, 2, checkpoints=checkpoints)
    before = folders()

    def fail(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(StepError, match=said) as caught:
            save(3, checkpoints=checkpoints)
    assert caught.value.exit_code == code
    assert sorted(before[0].parent.iterdir()) == before
    save(4, checkpoints=checkpoints)
    assert resume()[0] == 4


FILLS_A_DISK = """
import sys, torch
from pathlib import Path
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints import Checkpoints
from argosy.steps.train.checkpoints.folder import Folder
from argosy.steps.train.world import World
class Values:
    values = {"x": torch.arange(500_000)}
    def state_dict(self): return self.values
    def load_state_dict(self, values): self.values = values
part, folder = Values(), Path(sys.argv[1])
opened = lambda: Checkpoints(Folder(folder), World(0, 1, torch.device("cpu")), kept=2, dataset_hash="0" * 32)
checkpoints = opened()
try:
    for step in range(1, 9):
        checkpoints.save(step, {"part": part})
        if step == 2:
            checkpoints.finish()
            part.values = {"x": torch.arange(1_000_000)}
except StepError as error:
    print(int(error.exit_code), error.message)
print(opened().resume({"part": part}), len(part.values["x"]), sorted(path.name[:13] for path in folder.iterdir()))
"""


def test_a_disk_that_is_full_ends_the_training_in_words_and_the_checkpoints_before_stay(python, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    image = tmp_path / "image"
    mounts = f"truncate -s 14M {image}\nmkfs.ext4 -q {image}\nmount -o loop {image} {disk}\nrm -r {disk}/lost+found"
    exit_code, printed, said = python(FILLS_A_DISK, disk, mounts=mounts)
    assert (exit_code, said) == (0, "")
    told, left = printed.splitlines()
    assert told.startswith(f"78 {disk}: has no room for the 8,000,")
    assert left == "2 500000 ['step-00000001', 'step-00000002']"
