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


def test_all_faults_of_a_split_are_named_and_no_more_than_a_person_reads(task, shard, tmp_path):
    shard([], "train-0.tar")
    cut = shard(GOOD, "train-1.tar")
    cut.write_bytes(cut.read_bytes()[:2000])
    shard([*GOOD, ("README", b""), ("1.cls", b""), ("0.cls", b"")], "train-2.tar")
    shard(GOOD, "train-3.tar")
    (tmp_path / "train-4.tar").touch()
    lines = refusal(task, tmp_path).splitlines()
    assert [line.removeprefix(f"{tmp_path}/")[:11] for line in lines] == [
        *("train-0.tar", "train-1.tar", "train-2.tar", "train-2.tar", "train-2.tar", "train-4.tar")
    ]
    assert lines[1].endswith("ends at byte 2000, before its end-of-archive mark")
    assert lines[-1].endswith("has 0 bytes; write these 4 shards anew, and add the dataset anew to DVC")
    shard([*GOOD, *((f"odd{number}", b"") for number in range(90))], "train-2.tar")
    lines = refusal(task, tmp_path).splitlines()
    assert len(lines) == 11
    assert lines[-1].startswith("and 83 faults more; ")


@pytest.mark.parametrize(("at", "begin"), [(3, 0), (1024 + 130, 1024), (2048 + 150, 2048)])
def test_a_flipped_byte_of_a_header_is_named_by_the_headers_place(at, begin, task, shard, tmp_path):
    path = shard(GOOD)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    where = f"has a damaged header at byte {begin}" if begin else "is no tar: it has no header at byte 0"
    assert f"{path}: {where}; " in refusal(task, tmp_path)


def test_what_stands_behind_the_end_of_a_shard_is_not_lost_without_a_word(task, shard, tmp_path):
    path = shard(GOOD)
    path.write_bytes(path.read_bytes() * 2)
    assert "goes on after its end-of-archive mark at byte 4096, where readers stop" in refusal(task, tmp_path)


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_every_format_is_read_as_tarfile_reads_it(form, tmp_path):
    names = ["0.cls", f"{'d' * 60}/{'e' * 60}/{'f' * 60}.v1/0.cls"[-140:], "ein/ü.cls"]
    names += [f"{'n' * 120}.cls"] if form != tarfile.USTAR_FORMAT else []
    with tarfile.open(tmp_path / "train-0.tar", "w", format=form) as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(name), 1.5  # pax writes a header of its own for such a time
            archive.addfile(member, io.BytesIO(name.encode()[: len(name)]))
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    found = {sample.key: sample.members["cls"] for sample in samples.read(tmp_path, "train")}
    with tarfile.open(tmp_path / "train-0.tar") as archive:
        files = [member for member in archive if member.isfile()]
        wanted = {member.name.removesuffix(".cls"): archive.extractfile(member).read() for member in files}
    assert found == wanted
    assert len(found) == len(names)


def test_webdataset_reads_the_same_samples(shards):
    from webdataset.tariterators import group_by_keys, tar_file_expander

    for path in shards.glob("train-*.tar"):
        with path.open("rb") as stream:
            wanted = [
                (fields["__key__"], fields["pixels"], fields["cls"])
                for fields in group_by_keys(tar_file_expander([{"url": "", "stream": stream}]))
            ]
        found = [
            (sample.key, sample.members["pixels"], sample.members["cls"])
            for sample in samples.read(shards, "train")
            if sample.shard == str(path)
        ]
        assert found == wanted


def test_names_that_readers_pass_over_are_passed_over(shard, tmp_path):
    shard([("__meta__/0.cls", b"1"), ("__meta__", b"1"), *GOOD])
    assert [sample.key for sample in samples.read(tmp_path, "train")] == ["0", "1"]


def test_keys_in_any_order_are_fine(shard, tmp_path, capfd):
    shard([("9.cls", b"1"), ("1.cls", b"1"), ("5.cls", b"1")])
    assert [sample.key for sample in samples.read(tmp_path, "train")] == ["9", "1", "5"]
    assert capfd.readouterr().err == ""


def test_an_extension_with_a_dot_is_told_of_when_only_some_samples_have_it(shard, tmp_path, capfd):
    path = shard([("1.seg.png", b""), ("2.seg.png", b"")])
    list(samples.read(tmp_path, "train"))
    assert capfd.readouterr().err == ""
    shard([("1.png", b""), ("22.05.png", b""), ("22.07.png", b"")])
    list(samples.read(tmp_path, "train"))
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2
    assert told[0].startswith(f"{path}: sample 22: has a member 05.png, as 1 of 2 samples have")
