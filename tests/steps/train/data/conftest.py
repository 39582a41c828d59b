"""Splits of numbered samples, and a task that says which it was given."""

import io
import sys
import tarfile
from pathlib import Path

import pytest

from argosy.steps.shards.indexing import index


def write(shard, numbers):
    with tarfile.open(shard, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in numbers:
            member = tarfile.TarInfo(f"{number:06d}.cls")
            content = str(number).encode()
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.fixture
def split(tmp_path):
    """`split(3, 4)`: the folder of a split with 7 numbered samples in two shards."""

    def written(*lengths):
        first = 0
        for number, length in enumerate(lengths):
            write(tmp_path / f"train-{number:04d}.tar", range(first, first + length))
            first += length
        return tmp_path

    return written


@pytest.fixture
def dataset(split):
    return lambda *lengths: index(split(*lengths), "train")


@pytest.fixture
def tasks(monkeypatch):
    """The module of tasks, where worker processes find it too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import drawing

    yield drawing
    del sys.modules["drawing"]
