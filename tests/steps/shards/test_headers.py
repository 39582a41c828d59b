"""A damaged header is named; whatever stands there, it never ends in a traceback, in all memory, or in no end."""

import io
import tarfile

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.shards.headers import DamageError, members
from argosy.steps.shards.indexing import index


@pytest.fixture
def written(tmp_path):
    """A shard of one member, `1.cls`, before which headers tell of it what a writer says with these records."""

    def shard(form=tarfile.PAX_FORMAT, name="1.cls", **records):
        with tarfile.open(tmp_path / "train-0.tar", "w", format=form) as archive:
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = 3, records
            archive.addfile(member, io.BytesIO(b"abc"))
        return tmp_path / "train-0.tar"

    return shard


def change(shard, before, after):
    content = shard.read_bytes()
    assert content.count(before) == 1
    assert len(before) == len(after)
    shard.write_bytes(content.replace(before, after))


@pytest.mark.parametrize(
    "damaged",
    [
        b"x size=3\n",
        b"9 size=x\n",
        b"9 size=-\n",
        b"0 size=3\n",
        b"8 size=3\n",
        b"- size=3\n",
        b"99size=3\n",
        b"9 size=3x",
    ],
)
def test_a_pax_record_that_is_none_is_named_by_its_place(damaged, written, tmp_path):
    change(written(size="3"), b"9 size=3\n", damaged)
    with pytest.raises(StepError, match="has a damaged pax header at byte 0; write this shard anew") as caught:
        index(tmp_path, "train")
    assert caught.value.exit_code == ExitCode.DATA


def test_pax_records_may_be_padded_with_zeros(written):
    shard = written(comment="x" * 8)
    change(shard, b"20 comment=xxxxxxxx\n", b"12 comment=\n" + bytes(8))
    assert [member.name for member in members(shard)] == [b"1.cls"]


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_a_header_that_claims_more_than_there_is_takes_no_memory(form, written, monkeypatch):
    shard = written(form, name=f"{'n' * 120}.cls")
    length = len(shard.read_bytes())
    content = bytearray(shard.read_bytes())
    content[124:135] = b"77777777777"
    shard.write_bytes(content)
    asked = []
    pread = tarfile.os.pread
    monkeypatch.setattr("os.pread", lambda file, count, at: asked.append(count) or pread(file, count, at))
    with pytest.raises(DamageError, match="has no header at byte 0"):
        list(members(shard))
    assert max(asked) <= max(length, 1 << 20)
