"""What a cluster is made of: made once, whole, and anew when what it is made of has changed."""

import os
import tarfile

import pytest
from testcluster import archives
from testcluster.paths import is_newer


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "pause"
    path.write_bytes(b"a program")
    return path


def written(archive) -> float:
    return archive.stat().st_mtime_ns


def test_an_image_is_written_anew_for_another_program_alone(program, tmp_path):
    archive = tmp_path / "images" / "pause.tar"
    archives.program_image(program, "localhost/pause:1", archive)
    first = written(archive)
    archives.program_image(program, "localhost/pause:1", archive)
    assert written(archive) == first
    os.utime(program, ns=(first + 10**9, first + 10**9))
    archives.program_image(program, "localhost/pause:1", archive)
    assert written(archive) != first


def test_an_image_that_was_interrupted_is_not_there(program, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tarfile.TarFile, "addfile", interrupted)
    archive = tmp_path / "pause.tar"
    with pytest.raises(KeyboardInterrupt):
        archives.program_image(program, "localhost/pause:1", archive)
    assert not archive.exists()


def test_a_program_is_older_than_a_change_of_its_versions(tmp_path):
    program, versions = tmp_path / "argo", tmp_path / "go.mod"
    versions.write_text("module argo")
    assert not is_newer(program, [versions])
    program.touch()
    assert is_newer(program, [versions])
    later = written(program) + 10**9
    os.utime(versions, ns=(later, later))
    assert not is_newer(program, [versions])
