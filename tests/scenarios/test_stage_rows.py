"""Troubles that users of other systems reported with data and shards, rows S and W: each with its right answer."""

import io
import os
import signal
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import dvcremote
import pytest

from argosy.steps import samples
from argosy.steps.cache.space import Disk, Space
from argosy.steps.contracts import ExitCode, StageInput, StageOutput
from argosy.steps.digits import Digits
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from argosy.steps.errors import StepError
from argosy.steps.pack import grouping
from argosy.steps.stage import step
from argosy.steps.stage.supply import BLOCK_BYTES

DATASET = "data/set"
FILES = {"a.bin": b"a" * 5000, "b/b.bin": b"b" * 3000, "empty": b""}


class Project:
    """A project whose data is under DVC, its remote, and a node's cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.remote, self.cache = folder, folder / "remote", folder / "cache"
        (folder / ".dvc").mkdir()
        (folder / "data").mkdir()
        (folder / ".dvc/config").write_text("[core]\n    remote = store\n['remote \"store\"']\n    url = ../remote\n")
        self.dataset = self.record(FILES, self.remote)

    def record(self, files, remote):
        """As `dvc add` and a push to a remote leave it."""
        dataset = dvcremote.write(remote, files.items())
        (self.folder / f"{DATASET}.dvc").write_text(dataset.dvc_file("set"))
        return dataset

    def object(self, path):
        return dvcremote.place(self.remote, self.dataset.objects[path])

    def data(self, dataset=None):
        return self.cache / "datasets" / (dataset or self.dataset).hash.removesuffix(".dir") / "data"

    def fields(self, output="output"):
        return {"dataset": DATASET, "project": self.folder, "cache": self.cache, "output": self.folder / output}

    def stage(self):
        return step.run(StageInput(**self.fields()))

    def start(self, output="output", around=()):
        words = [f"--{name}={value}" for name, value in self.fields(output).items()]
        command = [*around, sys.executable, "-m", "argosy.steps", "stage", *words]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def refusal(self, exit_code=ExitCode.DATA):
        with pytest.raises(StepError) as caught:
            self.stage()
        assert caught.value.exit_code == exit_code, caught.value.message
        return caught.value.message

    def read(self):
        data = self.data()
        return {str(path.relative_to(data)): path.read_bytes() for path in data.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


# ---------------------------------------------------------------------------------------------- S: DVC


def test_s2_a_revision_that_was_never_pushed_is_told_though_the_cache_has_another(project, tmp_path):
    project.stage()
    never_pushed = project.record({"c.bin": b"c"}, tmp_path / "somewhere else")
    assert f"DVC remote store lacks {DATASET} ({never_pushed.hash})" in project.refusal()
    assert not project.data(never_pushed).exists()
    assert project.read() == FILES


@pytest.mark.parametrize(("field", "words"), [("nfiles: 3", "3 files"), ("size: 8000", "8000 bytes")])
def test_s2_a_dataset_of_another_count_or_size_than_dvcs_file_says_is_refused(field, words, project):
    record = project.folder / f"{DATASET}.dvc"
    assert field in record.read_text()
    record.write_text(record.read_text().replace(field, f"{field}0"))
    told = project.refusal()
    assert words in told
    assert "as DVC's file says" in told
    assert not project.data().exists()


def test_s4_a_byte_that_flips_in_a_read_only_file_of_the_cache_is_found_named_and_mended(project, capsys):
    project.stage()
    file = project.data() / "a.bin"
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    before = file.stat()
    file.chmod(0o644)
    with file.open("r+b") as opened:
        opened.write(b"\x7f")
    file.chmod(0o444)
    assert project.stage().fetched_bytes == 5000
    assert f"{project.data()}: a.bin has other bytes" in capsys.readouterr().err
    assert project.read() == FILES
    assert file.stat().st_size == before.st_size


def test_s4_a_byte_that_flips_beneath_the_file_system_is_found_by_verify(project):
    project.stage()
    file = project.data() / "a.bin"
    before = file.stat()
    file.chmod(0o644)
    with file.open("r+b") as opened:
        opened.write(b"\x7f")
    file.chmod(0o444)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    command = [sys.executable, "-m", "argosy.steps.cache", "verify", f"--cache={project.cache}"]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    assert verified.returncode == ExitCode.DATA
    assert f"{file} has other bytes\n" in verified.stderr
    project.stage()
    assert project.read() == FILES


def test_s6_a_cache_that_may_only_be_read_serves_what_it_has_and_says_which_right_the_rest_needs(project, tmp_path):
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting needs Linux and root")
    project.stage()
    mounts = tmp_path / "mounts.sh"
    mounts.write_text(f'set -e\nmount --bind -o ro {project.cache} {project.cache}\nexec "$@"\n')
    around = ("unshare", "--mount", "sh", str(mounts))
    with project.start(around=around) as has_it:
        assert has_it.wait() == ExitCode.OK, has_it.stderr.read()
    project.record({"c.bin": b"c"}, project.remote)
    with project.start(around=around) as lacks_it:
        _, told = lacks_it.communicate()
    assert lacks_it.returncode == ExitCode.CONFIGURATION
    assert told == f"{project.cache}/datasets: is mounted read-only; mount the cache for writing\n"


def test_s7_eight_stages_of_one_project_at_once_all_succeed_and_fetch_once(project):
    pods = [project.start(output=f"output-{number}") for number in range(8)]
    for pod in pods:
        _, told = pod.communicate(timeout=60)
        assert pod.returncode == 0, told
    records = [(project.folder / f"output-{number}/record.json").read_bytes() for number in range(8)]
    fetched = [StageOutput.model_validate_json(record).fetched_bytes for record in records]
    assert sum(fetched) == 8000
    assert project.read() == FILES


@pytest.mark.parametrize("command", ["check", "run"])
def test_s8_conflict_markers_are_refused_with_their_line_before_any_pod_starts(command, digits):
    lock = digits.path / "dvc.lock"
    lines = lock.read_text().splitlines()
    lock.write_text("\n".join([*lines[:11], "<<<<<<< HEAD", *lines[11:], ""]))
    with digits.start(command, "digits") as process:
        printed = "".join(process.communicate(timeout=60))
    assert process.returncode in (1, 2), printed
    assert "dvc.lock:12: holds a merge conflict" in printed
    assert not list((digits.path / ".argosy").glob("runs/*/pods/*"))


@pytest.mark.parametrize("lacking", [1, 0])
def test_s11_one_byte_too_few_is_refused_before_the_first_is_fetched_and_told_with_need_and_free(
    lacking, project, monkeypatch
):
    need = 8000 + 3 * BLOCK_BYTES
    free = Space(need - lacking, 1000)
    monkeypatch.setattr(Disk, "of", lambda _: Disk(Space(), free))  # of which none is kept in reserve
    if not lacking:
        assert project.stage().bytes == 8000
        return
    told = project.refusal(ExitCode.CONFIGURATION)
    assert told.startswith(f"{project.cache}: needs {need:,} bytes and 3 files; its disk has {need - 1:,} bytes and ")
    assert not [path for path in (project.cache / "blobs").rglob("*") if path.is_file()]


# ---------------------------------------------------------------------------------------------- W: shards


@pytest.fixture
def shard(tmp_path):
    """Writes a shard of these members; its path."""

    def write(members):
        with tarfile.open(tmp_path / "train-0.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for member, content in members:
                header = tarfile.TarInfo(member)
                header.size = len(content)
                archive.addfile(header, io.BytesIO(content))
        return tmp_path / "train-0.tar"

    return write


def refused(shard):
    with pytest.raises(StepError) as caught:
        samples.load(Digits(DigitsHyperparameters()), shard.parent, "train")
    assert caught.value.exit_code == ExitCode.DATA
    assert caught.value.message.startswith(f"{shard}: ")
    return caught.value.message


def test_w1_a_dot_within_a_name_ends_its_key_and_that_is_told(shard):
    told = refused(shard([("22.05.pixels", bytes(64)), ("22.05.cls", b"3")]))
    assert "sample 22: " in told
    assert "a key ends at its first dot" in told


def test_w1_a_dot_in_a_folders_name_ends_no_key(shard):
    path = shard([("train.v1/0001.pixels", bytes(64)), ("train.v1/0001.cls", b"3")])
    assert [sample.key for sample in samples.read(path.parent, "train")] == ["train.v1/0001"]


def test_w1_files_with_such_names_are_not_packed_either(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("22.05.png", "22.07.png"):
        (folder / name).write_bytes(b"x")
    with pytest.raises(StepError, match=r"22\.05\.png, 22\.07\.png: has a dot within its name") as caught:
        grouping.samples(folder)
    assert caught.value.exit_code == ExitCode.DATA


@pytest.mark.parametrize("second", ["0.cls", "0.CLS"])
def test_w3_a_member_that_stands_twice_is_told_with_shard_and_place(second, shard):
    told = refused(shard([("0.pixels", bytes(64)), ("0.cls", b"1"), (second, b"2")]))
    assert f"member {second} at byte 2048 stands twice" in told


def test_w5_a_shard_without_samples_is_refused(shard):
    assert "holds no samples" in refused(shard([]))


def test_w5_an_empty_file_is_no_shard(shard):
    path = shard([])
    path.write_bytes(b"")
    assert "write this shard anew" in refused(path)


def test_w7_a_stage_killed_in_the_middle_publishes_nothing_and_the_next_removes_what_it_left(project):
    fifo = project.object("b/b.bin")
    fifo.unlink()
    os.mkfifo(fifo)
    killed = project.start()
    with fifo.open("wb"):  # opens when the stage reads this object
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    assert list((project.cache / "datasets").iterdir()) == []
    fifo.unlink()
    fifo.write_bytes(FILES["b/b.bin"])
    project.stage()
    assert project.read() == FILES
    left = [path for name in ("partial", "trash", "locks") for path in (project.cache / name).iterdir()]
    assert left == []
