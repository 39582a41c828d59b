"""Staging out of a real DVC remote, with every way in which it can be damaged."""

import errno
import hashlib
import json
import os
import shutil
import stat
from types import SimpleNamespace

import pytest

from argosy.steps import files
from argosy.steps.cache import rights as cache_rights
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version
from argosy.steps.contracts import EnsureInput, ExitCode, StageInput
from argosy.steps.errors import StepError, Terminated
from argosy.steps.stage import ensuring, listing, supply, transfer
from argosy.steps.stage.step import run

DATASET = "data/digits"


@pytest.fixture
def stage(project, tmp_path):
    """Stages the project's dataset into a cache of the test's own."""

    def call(**changed):
        inputs = {"dataset": DATASET, "project": project, "cache": tmp_path / "cache", "output": tmp_path / "out"}
        return run(StageInput(**{**inputs, **changed}))

    return call


@pytest.fixture
def ensure(project, tmp_path):
    """Brings pinned data into the same cache, as the init container of a training pod does."""

    def call(pin, **changed):
        inputs = {"dataset_pin": pin, "project": project, "cache": tmp_path / "cache", "output": tmp_path / "out"}
        return ensuring.run(EnsureInput(**{**inputs, **changed}))

    return call


@pytest.fixture
def datasets(tmp_path):
    return tmp_path / "cache/datasets"


@pytest.fixture
def objects(project):
    """The remote: path in the dataset -> the file that holds its object; `.dir` -> the list."""
    store = project / "dvc-remote/files/md5"
    (listing,) = store.glob("*/*.dir")
    files = {
        entry["relpath"]: store / entry["md5"][:2] / entry["md5"][2:] for entry in json.loads(listing.read_bytes())
    }
    for path in (listing, *files.values()):
        path.chmod(0o644)
    return SimpleNamespace(listing=listing, files=files, store=store)


def refusal(call, exit_code=ExitCode.DATA, **changed):
    with pytest.raises(StepError) as caught:
        call(**changed)
    assert caught.value.exit_code == exit_code, caught.value.message
    assert "\n" not in caught.value.message
    return caught.value.message


def nothing_is_left(datasets):
    return not datasets.exists() or not list(datasets.iterdir())


@pytest.fixture
def relist(project, objects):
    """Replaces the dataset's list, as DVC would have written it."""

    def replace(entries):
        raw = json.dumps(entries).encode()
        digest = hashlib.md5(raw).hexdigest()
        target = objects.store / digest[:2] / f"{digest[2:]}.dir"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(raw)
        record = project / "data/digits.dvc"
        old = f"{objects.listing.parent.name}{objects.listing.name}"
        lines = record.read_text().replace(old, f"{digest}.dir").splitlines()
        kept = [line for line in lines if "size:" not in line and "nfiles:" not in line]
        record.write_text("\n".join(kept) + "\n")

    return replace


def test_a_version_is_what_was_added_read_only_and_says_what_it_is(stage, shards, datasets):
    output = stage()
    folder = datasets / output.dataset_hash.removesuffix(".dir")
    assert {path.name: path.read_bytes() for path in (folder / "data").iterdir()} == {
        path.name: path.read_bytes() for path in shards.iterdir()
    }
    said = Version.model_validate_json((folder / "version.json").read_bytes())
    assert (said.dataset, said.dataset_hash) == (DATASET, output.dataset_hash)
    sizes = [path.stat().st_size for path in (folder / "data").iterdir()]
    assert (said.files, said.bytes) == (output.files, output.bytes) == (len(sizes), sum(sizes))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")] if path.is_dir()}
    assert modes == {0o555}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder / "data").iterdir()} == {0o444}
    assert [path.name for path in datasets.iterdir()] == [folder.name]


def test_staged_again_nothing_is_fetched(stage):
    first, again = stage(), stage()
    assert (first.fetched_bytes, first.hits) == (first.bytes, 0)
    assert (again.fetched_bytes, again.hits) == (0, first.files)


def test_what_is_pinned_and_there_needs_neither_project_nor_remote(stage, ensure, project):
    output = stage()
    shutil.rmtree(project)
    assert ensure(output.dataset_pin).files == output.files


def test_what_is_pinned_needs_no_git_and_no_dvc_to_be_fetched(stage, ensure, project, tmp_path):
    output = stage()
    for name in (".git", ".dvc", "data"):
        shutil.rmtree(project / name)
    assert ensure(output.dataset_pin, cache=tmp_path / "another").fetched_bytes == output.bytes


def test_a_pin_is_taken_in_place_of_what_dvcs_files_say_now(stage, project):
    first = stage()
    (project / "data/digits.dvc").unlink()
    assert stage(dataset_pin=first.dataset_pin.model_dump_json()).dataset_hash == first.dataset_hash


@pytest.mark.parametrize(("field", "other"), [("dataset", "data/other"), ("revision", "c0ffee")])
def test_a_pin_of_other_data_is_refused(field, other, stage):
    pin = stage().dataset_pin.model_dump_json()
    message = refusal(stage, ExitCode.CONFIGURATION, dataset_pin=pin, **{field: other})
    assert f"is of {field} " in message
    assert f"and not '{other}'" in message


def test_a_revision_is_read_from_git_and_the_working_tree_stays_as_it_is(stage, project, git, dvc):
    first = stage()
    (project / DATASET / "extra.txt").write_text("more")
    dvc(project, "add", "--quiet", DATASET)
    dvc(project, "push", "--quiet")
    git(project, "commit", "--quiet", "--all", "--message=Second")
    second = stage(revision="HEAD")
    assert second.files == first.files + 1
    (project / "uncommitted").write_text("x")
    assert stage(revision="HEAD~1").dataset_hash == first.dataset_hash
    assert stage(revision="HEAD~1-dirty").dataset_hash == second.dataset_hash
    assert (project / "uncommitted").exists()


def test_an_unknown_revision_is_refused(stage):
    assert refusal(stage, revision="nowhere").startswith("revision nowhere: ")
    assert refusal(stage, revision="--help").startswith("revision --help: ")


def test_an_object_never_pushed_is_named_with_all_others(stage, objects, datasets):
    for name in ("test-0000.tar", "train-0001.tar"):
        objects.files[name].unlink()
    message = refusal(stage)
    assert "test-0000.tar (" in message
    assert "train-0001.tar (" in message
    assert "dvc push" in message
    assert nothing_is_left(datasets)


def test_a_missing_list_is_not_an_empty_dataset(stage, objects, datasets):
    objects.listing.unlink()
    assert "lacks data/digits (" in refusal(stage)
    assert nothing_is_left(datasets)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:700] + b"\x7f" + data[701:]])
def test_a_damaged_object_is_named_and_nothing_is_published(damage, stage, objects, datasets):
    path = objects.files["train-0000.tar"]
    path.write_bytes(damage(path.read_bytes()))
    path.chmod(0o444)  # the mode that DVC itself trusts
    message = refusal(stage)
    assert message.startswith("DVC remote store has other bytes for train-0000.tar (")
    assert str(path) in message
    assert nothing_is_left(datasets)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["../../outside"], "is no path inside it"),
        (["/outside"], "is no path inside it"),
        (["a//b"], "is no path inside it"),
        (["./a"], "is no path inside it"),
        ([""], "is no path inside it"),
        (["a\0b"], "is no path inside it"),
        (["a", "a"], "'a' twice"),
        (["a", "a/b"], "'a' as a file and as a folder"),
    ],
)
def test_a_list_with_unsafe_paths_is_refused_before_anything_is_written(paths, words, stage, relist, datasets):
    md5 = "d41d8cd98f00b204e9800998ecf8427e"
    relist([{"md5": md5, "relpath": path} for path in paths])
    assert words in refusal(stage)
    assert nothing_is_left(datasets)


def test_names_that_differ_in_case_alone_are_refused_where_the_file_system_folds_case(
    stage, relist, objects, monkeypatch, datasets
):
    (entry,) = [entry for entry in json.loads(objects.listing.read_bytes()) if entry["relpath"] == "test-0000.tar"]
    relist([entry, {**entry, "relpath": "TEST-0000.tar"}])
    assert stage().files == 2
    for folder in datasets.iterdir():
        files.remove_folder(folder)
    monkeypatch.setattr(listing, "_folds_case", lambda _: True)
    assert "are one file on this file system" in refusal(stage)


@pytest.fixture
def data(stage, datasets):
    """The folder of the staged dataset, made writable."""
    folder = datasets / stage().dataset_hash.removesuffix(".dir") / "data"
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    return folder


def overwritten(path):
    """A byte changed in place: the size stays."""
    with path.open("r+b") as file:
        file.seek(700)
        file.write(b"\x7f")


def replaced_with_the_same_time(path):
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"x" * before.st_size)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: os.truncate(path, 100), "has other bytes"),
        (overwritten, "has other bytes"),
        (replaced_with_the_same_time, "has other bytes"),
        (lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")), "has other bytes"),
        (lambda path: path.with_name("train-9999.tar").touch(), "train-9999.tar was not staged"),
    ],
)
def test_a_version_that_changed_in_the_cache_is_named_and_made_whole_again(damage, fault, stage, data, capsys):
    whole = {path.name: path.read_bytes() for path in data.iterdir()}
    damage(data / "train-0000.tar")
    output = stage()
    said = capsys.readouterr().err
    assert f"{data}: " in said
    assert ("train-0000.tar is missing" if fault == "is missing" else fault) in said
    assert {path.name: path.read_bytes() for path in data.iterdir()} == whole
    assert output.files == len(whole)


def test_one_damaged_file_is_made_whole_though_the_blobs_of_others_were_taken(stage, data, tmp_path):
    for blob in (tmp_path / "cache/blobs").glob("*/*"):
        blob.unlink()
    overwritten(data / "train-0000.tar")
    output = stage()
    assert output.fetched_bytes == (data / "train-0000.tar").stat().st_size
    assert NodeCache(data.parents[2]).found(data.parent.name)


def test_what_is_damaged_in_the_cache_and_gone_from_the_remote_is_no_version(stage, data, objects):
    overwritten(data / "train-0000.tar")
    objects.files["train-0000.tar"].unlink()
    assert "train-0000.tar (" in refusal(stage)
    with (
        pytest.raises(StepError, match=r"train-0000.tar has other bytes"),
        NodeCache(data.parents[2]).held(data.parent.name),
    ):
        pass


@pytest.mark.parametrize("content", [b"", b'{"a": 1}'])
def test_a_version_whose_own_file_is_damaged_is_staged_anew(content, stage, data, capsys):
    version = data.parent / "version.json"
    version.chmod(0o644)
    version.write_bytes(content)
    output = stage()
    assert f"{version}: is no such file" in capsys.readouterr().err
    assert (output.fetched_bytes, output.hits) == (0, output.files), "its blobs were there"
    assert stage().hits == output.files


def test_a_file_that_only_looks_changed_is_read_and_found_whole(stage, data, capsys):
    os.utime(data / "train-0000.tar")
    assert stage().fetched_bytes == 0
    assert capsys.readouterr().err == ""


def test_a_stage_stopped_in_the_middle_leaves_nothing(stage, monkeypatch, datasets):
    def stopped(*_):
        raise Terminated

    monkeypatch.setattr(transfer.Progress, "report", stopped)
    with pytest.raises(Terminated):
        stage()
    assert nothing_is_left(datasets)


def test_two_stages_at_once_both_succeed_and_one_publishes(start_step, project, tmp_path, datasets):
    fields = {"dataset": DATASET, "project": project, "cache": tmp_path / "cache"}
    both = [start_step("stage", **fields, output=tmp_path / f"out{number}") for number in range(2)]
    for process in both:
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
    (folder,) = datasets.iterdir()
    assert NodeCache(tmp_path / "cache").found(folder.name)
    fetched = [int((tmp_path / f"out{number}/fetched-bytes").read_text()) for number in range(2)]
    assert min(fetched) == 0, "one has fetched for both"


def test_a_stage_whose_remote_does_not_answer_any_more_is_ended_by_sigterm(start_step, project, tmp_path, objects):
    fifo = objects.files["train-0001.tar"]
    fifo.unlink()
    os.mkfifo(fifo)  # which nobody opens: whoever reads it waits for ever
    fields = {"dataset": DATASET, "project": project, "cache": tmp_path / "cache", "output": tmp_path / "out"}
    with start_step("stage", **fields) as process:
        assert process.stderr.readline().startswith("staged 1/6 files")
        process.terminate()
        try:
            assert process.wait(timeout=20) == 143
        finally:
            process.kill()
    assert not list((tmp_path / "cache/partial").iterdir())


def test_a_folder_in_place_of_an_object_is_told_at_once(stage, objects):
    path = objects.files["train-0000.tar"]
    path.unlink()
    path.mkdir()
    assert f"train-0000.tar ({path.parent.name}{path.name}): {path} is a folder" in refusal(stage)


def test_a_single_file_is_a_dataset_too(stage, project, dvc, datasets):
    (project / "labels.csv").write_text("a,b\n")
    dvc(project, "add", "--quiet", "labels.csv")
    dvc(project, "push", "--quiet")
    output = stage(dataset="labels.csv")
    assert (datasets / output.dataset_hash / "data/labels.csv").read_text() == "a,b\n"
    assert stage(dataset="labels.csv").fetched_bytes == 0


ONE, NAMED, BESIDE = (
    "{}",
    '[{{"path": "{}", "name": "x"}}]',
    '[{{"path": "{}", "name": "x"}}, {{"path": "data/digits"}}]',
)


@pytest.mark.parametrize("asked", [ONE, NAMED, BESIDE], ids=["one", "named", "beside"])
def test_two_single_files_of_the_same_bytes_each_keep_their_name(asked, stage, project, dvc, datasets):
    """DVC's hash of a file does not know the file's name."""
    found = []
    for name in ("labels.csv", "renamed.csv"):
        (project / name).write_text("a,b\n")
        dvc(project, "add", "--quiet", name)
        dvc(project, "push", "--quiet")
        data = datasets / stage(dataset=asked.format(name)).dataset_hash / "data"
        found.append([path.name for path in data.rglob("*.csv")])
    assert found == [["labels.csv"], ["renamed.csv"]]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("", "names no default remote"),
        ("[core]\nremote = gone\n", "gone"),
        ("[core]\nremote = s\n['remote \"s\"']\nurl = ssh://b\n", "ssh"),
        ("[core]\nremote = s\n['remote \"s\"']\nurl = d\nversion_aware = true\n", "is version-aware"),
        ("[core\n", "DVC remote"),
    ],
)
def test_a_remote_that_cannot_be_used_is_a_matter_of_configuration(config, words, stage, project):
    (project / ".dvc/config").write_text(config)
    assert words in refusal(stage, ExitCode.CONFIGURATION)


# ---------------------------------------------------------------------------------------------- rights and images


@pytest.mark.parametrize(
    ("node_folder", "remedy"),
    [
        ("/mnt/nvme", "run `install -d -o {user} -g {group} /mnt/nvme` on the node, or apply the DaemonSet"),
        ("", "give its volume to group {group}"),
    ],
)
def test_a_cache_that_may_not_be_written_is_told_with_the_missing_right_and_the_remedy(
    node_folder, remedy, stage, tmp_path, monkeypatch
):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)

    def refuses(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(cache_rights.Path, "mkdir", refuses)  # nothing is refused to root, which tests may be
    message = refusal(stage, ExitCode.CONFIGURATION, node_folder=node_folder)
    user, group = os.geteuid(), os.getegid()
    assert message.startswith(f"{cache}: user {user}, group {group} lacks the right to write: it is drwxr-xr-x of")
    assert remedy.format(user=user, group=group) in message


def test_the_remedy_names_the_folder_that_lacks_the_right_and_not_the_one_above(stage, monkeypatch):
    make = cache_rights.Path.mkdir

    def refuses(self, *words, **named):
        if self.name.startswith(".partial-"):
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        make(self, *words, **named)

    monkeypatch.setattr(cache_rights.Path, "mkdir", refuses)
    message = refusal(stage, ExitCode.CONFIGURATION, node_folder="/mnt/nvme")
    assert f"install -d -o {os.geteuid()} -g {os.getegid()} /mnt/nvme/datasets`" in message


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_cache_that_is_no_folder_is_told(name, stage, tmp_path):
    (tmp_path / "file").touch()
    cache = tmp_path / name
    assert refusal(stage, ExitCode.CONFIGURATION, cache=cache).startswith(f"{cache}/datasets: is no folder")


def test_a_cache_that_is_mounted_read_only_is_told(stage, monkeypatch):
    def refuses(self, *_, **__):
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(cache_rights.Path, "mkdir", refuses)
    assert "is mounted read-only" in refusal(stage, ExitCode.CONFIGURATION)


def test_a_cache_that_holds_the_dataset_need_not_be_writable(stage, ensure, monkeypatch):
    output = stage()
    monkeypatch.setattr(NodeCache, "staging", lambda *_: pytest.fail("it was written to"))
    assert ensure(output.dataset_pin).fetched_bytes == 0


@pytest.fixture
def image(project):
    """The project as an image holds it: without git, but with the commit that its files are of."""
    shutil.rmtree(project / ".git")
    (project / ".argosy-revision").write_text("c0ffee\n")
    return project


@pytest.mark.usefixtures("image")
def test_an_images_files_are_those_of_its_own_revision(stage):
    assert stage(revision="c0ffee").dataset_hash == stage().dataset_hash


def test_another_revision_than_the_images_is_refused_with_both_and_the_remedy(stage, image):
    message = refusal(stage, ExitCode.CONFIGURATION, revision="decade")
    assert message.startswith(f"revision decade: {image} is the image's, of revision c0ffee; type `argosy images")


def test_the_summary_says_how_much_was_fetched_and_how_fast(stage):
    first, again = stage(), stage()
    assert first.summary.startswith(f"6 files, {first.bytes / 1e6:,.1f} MB, {first.bytes / 1e6:,.1f} MB fetched at ")
    assert first.summary.endswith(" MB/s")
    assert again.summary.endswith(", all of it in the cache already")


# ---------------------------------------------------------------------------------------------- several, and parts


def test_of_several_datasets_each_has_a_folder_of_its_name(stage, project, dvc, datasets):
    (project / "labels.csv").write_text("a,b\n")
    dvc(project, "add", "--quiet", "labels.csv")
    dvc(project, "push", "--quiet")
    asked = json.dumps([{"path": DATASET}, {"path": "labels.csv", "name": "extra"}])
    output = stage(dataset=asked)
    data = datasets / output.dataset_hash / "data"
    assert sorted(path.name for path in data.iterdir()) == ["digits", "extra"]
    assert (data / "extra/labels.csv").read_text() == "a,b\n"
    assert output.files == 7


def test_files_that_a_pattern_fits_are_a_version_of_their_own(stage, datasets):
    whole = stage()
    output = stage(dataset=json.dumps([{"path": DATASET, "only": ["train-*.tar"]}]))
    data = datasets / output.dataset_hash / "data"
    assert sorted(path.name for path in data.iterdir()) == ["train-0000.tar", "train-0001.tar"]
    assert output.dataset_hash != whole.dataset_hash.removesuffix(".dir")
    assert output.fetched_bytes == 0, "the whole dataset's files are the same"


def test_each_node_gets_its_part_of_the_training_shards(stage, ensure, datasets):
    pin = stage().dataset_pin
    key = pin.hash.removesuffix(".dir")
    for index in range(2):
        ensure(pin, part=f"{index}/2")
    parts = [{path.name for path in (datasets / f"{key}-{index}of2/data").iterdir()} for index in range(2)]
    assert parts[0] ^ parts[1] == {"train-0000.tar", "train-0001.tar"}
    assert "test-0000.tar" in parts[0] & parts[1]


@pytest.mark.parametrize("is_counted", [True, False])
def test_what_is_evicted_while_it_is_staged_is_fetched_again(is_counted, stage, tmp_path, monkeypatch):
    """Another pod makes room between the last byte of this one and its publication, once."""
    complete, evictions = supply.Supply.require_complete, []

    def evicts(self, cache):
        if is_counted:
            complete(self, cache)
        if not evictions:
            evictions.append(self.entries[0].md5)
            cache.blobs.path(self.entries[0].md5).unlink()
        if not is_counted:
            complete(self, cache)

    monkeypatch.setattr(supply.Supply, "require_complete", evicts)
    output = stage()
    assert output.fetched_bytes > output.bytes
    assert NodeCache(tmp_path / "cache").found(output.dataset_hash.removesuffix(".dir"))
