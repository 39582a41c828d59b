"""Packing: what a reader of the shards gets is what was in the folder; what it would lose is refused."""

import errno
import hashlib
import json
import os
import subprocess
import sys

import pytest

from argosy.steps import samples
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.pack import pack
from argosy.steps.pack.contracts import PackInput


@pytest.fixture
def folder(tmp_path):
    """A folder with these files: names, each of which is its own content."""

    def fill(*names, name="raw"):
        for one in names:
            path = tmp_path / name / one
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.encode())
        return tmp_path / name

    return fill


@pytest.fixture
def packed(tmp_path):
    def call(folder, out="out", **fields):
        return pack.run(PackInput(folder=folder, out=tmp_path / out, output=tmp_path / "record", **fields))

    return call


def refusal(packed, folder, exit_code=ExitCode.DATA, **fields):
    before = sorted(path.name for path in folder.parent.iterdir())
    with pytest.raises(StepError) as caught:
        packed(folder, **fields)
    assert caught.value.exit_code == exit_code
    assert sorted(path.name for path in folder.parent.iterdir()) == before, "something half made is left"
    return caught.value.message


def content(out, split="train"):
    return {
        f"{sample.key}.{extension}": content
        for sample in samples.read(out, split)
        for extension, content in sample.members.items()
    }


def test_a_reader_gets_every_file_with_its_content(folder, packed, tmp_path):
    names = [f"{kind}/{number}.{end}" for kind in ("a", "b-1.x") for number in range(50) for end in ("jpg", "cls")]
    done = packed(folder(*names), bytes=30_000)
    assert content(tmp_path / "out") == {name: name.encode() for name in names}
    assert (done.samples, done.bytes) == (100, sum(map(len, names)))
    assert done.shards == len(list((tmp_path / "out").glob("train-0000??.tar"))) > 5


def test_a_sample_is_never_torn_although_other_names_sort_between_its_files(folder, packed, tmp_path):
    names = ["1.cls", "1-a.cls", "1-a.jpg", "1.jpg"]  # `-` sorts before `.`
    packed(folder(*names), bytes=1)
    assert [sorted(sample.members) for sample in samples.read(tmp_path / "out", "train")] == [["cls", "jpg"]] * 2


@pytest.mark.parametrize("stem", ["", "n" * 150])
def test_a_shard_is_no_larger_than_was_asked_for_unless_one_sample_is(stem, folder, packed, tmp_path):
    raw = folder(*(f"{stem}{number}.bin" for number in range(40)))
    (raw / f"{stem}13.bin").write_bytes(bytes(50_000))
    packed(raw, bytes=20_480)
    sizes = {shard.stat().st_size for shard in (tmp_path / "out").iterdir()}
    assert sorted(sizes)[-2:] == [20_480, 61_440]


def test_the_same_files_give_the_same_bytes_whatever_their_times_rights_and_order(folder, packed, tmp_path):
    names = [f"{number}.jpg" for number in range(9)]
    first, second = folder(*names), folder(*reversed(names), name="again")
    os.utime(second / "3.jpg", (1, 1))
    (second / "4.jpg").chmod(0o400)
    packed(first, "out")
    packed(second, "other")
    hashes = [hashlib.sha256((tmp_path / name / "train-000000.tar").read_bytes()).digest() for name in ("out", "other")]
    assert hashes[0] == hashes[1]


def test_splits_stand_side_by_side_and_one_that_is_there_is_not_overwritten(folder, packed, tmp_path):
    raw = folder("1.jpg")
    packed(raw)
    (tmp_path / "out/README.txt").write_text("kept")
    packed(folder("2.jpg", name="other"), split="test")
    assert content(tmp_path / "out", "train") == {"1.jpg": b"1.jpg"}
    assert content(tmp_path / "out", "test") == {"2.jpg": b"2.jpg"}
    assert (tmp_path / "out/README.txt").read_text() == "kept"
    message = refusal(packed, raw, ExitCode.CONFIGURATION, split="test")
    assert message == f"{tmp_path}/out/test-000000.tar: is there already; name another folder, or remove its test-*.tar"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["22.05.png", "22.07.png", "23.05.png"], "raw: 22.07.png: has a dot within its name"),
        (["v1.2_1.png", "v1.2_2.png"], "v1.2_1.png, v1.2_2.png: has a dot within its name"),
        (["1.jpg", "1.JPG"], "1.JPG, 1.jpg: differs from another file of its sample in upper and lower case alone"),
        (["1.jpg", "a/noext"], "raw: a/noext: belongs to no sample"),
        (["1.jpg", ".DS_Store", "a/.hidden"], ".DS_Store, a/.hidden: belongs to no sample"),
        (["1.jpg", "__MACOSX__/1.jpg"], "__MACOSX__/1.jpg: belongs to no sample"),
        ([*"abcde"], "a, b, c and 2 more: belongs to no sample"),
    ],
)
def test_a_name_that_a_reader_would_lose_or_split_wrongly_is_refused(names, words, folder, packed):
    assert words in refusal(packed, folder(*names))


def test_an_extension_with_a_dot_that_every_sample_has_is_meant_so(folder, packed, tmp_path):
    packed(folder("1.jpg", "1.seg.png", "2.jpg", "2.seg.png"))
    assert sorted(next(iter(samples.read(tmp_path / "out", "train"))).members) == ["jpg", "seg.png"]


def test_what_is_no_regular_file_is_refused_and_a_link_to_one_is_packed(folder, packed, tmp_path):
    raw = folder("1.jpg", "2.jpg")
    (raw / "3.jpg").symlink_to(raw / "2.jpg")
    packed(raw)
    assert content(tmp_path / "out")["3.jpg"] == b"2.jpg"
    (raw / "more").symlink_to(tmp_path / "out")
    assert "raw: more: is no regular file, or a link to a folder" in refusal(packed, raw, out="other")


@pytest.mark.parametrize("out", ["raw", "raw/out", "."])
def test_the_shards_lie_beside_the_files_and_not_among_them(out, folder, packed):
    assert "name a folder beside it" in refusal(packed, folder("1.jpg"), ExitCode.CONFIGURATION, out=out)


def test_an_empty_folder_and_one_that_is_not_there_are_told_apart(packed, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no files" in refusal(packed, tmp_path / "empty")
    assert "is no folder" in refusal(packed, tmp_path / "nowhere", ExitCode.CONFIGURATION)


@pytest.mark.parametrize("change", [b"", b"longer than before"])
def test_a_file_that_changes_while_it_is_packed_is_refused_by_name(change, folder, packed, monkeypatch):
    raw = folder("1.jpg", "2.jpg")
    planned = pack.shards.planned

    def changed(*arguments):
        (raw / "2.jpg").write_bytes(change)
        return planned(*arguments)

    monkeypatch.setattr(pack.shards, "planned", changed)
    assert "2.jpg: changed while it was packed" in refusal(packed, raw)


def test_a_shard_that_reads_back_otherwise_is_not_published(folder, packed, monkeypatch):
    raw = folder("1.jpg", "2.jpg")
    write = pack.shards.write

    def shortened(shard, folder, samples):
        write(shard, folder, list(samples)[:1])

    monkeypatch.setattr(pack.shards, "write", shortened)
    assert "sample 2: is read back as None, and was ('2', 1, 5)" in refusal(packed, raw)


def test_as_a_pod_it_leaves_a_record_and_names_a_wrong_argument(folder, tmp_path):
    raw = folder(*(f"{number}.jpg" for number in range(10)))
    words = {"folder": raw, "out": tmp_path / "out", "output": tmp_path / "record"}
    command = [sys.executable, "-m", "argosy.steps.pack", *(f"--{name}={value}" for name, value in words.items())]
    subprocess.run(command, check=True, capture_output=True)
    assert json.loads((tmp_path / "record/record.json").read_bytes())["samples"] == 10
    done = subprocess.run([*command, "--bytes=0"], check=False, capture_output=True, text=True)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith("--bytes=0: ")


def test_a_folder_that_cannot_be_read_is_named_and_not_passed_over(folder, packed, monkeypatch):
    raw, scan = folder("a/1.jpg", "b/2.jpg"), os.scandir

    def refuses(path):
        if str(path).endswith("/b"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuses)  # nothing is refused to root, which tests may be
    assert refusal(packed, raw, ExitCode.CONFIGURATION).startswith(f"{raw / 'b'}: Permission denied")
