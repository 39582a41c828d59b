"""`argosy data pack` as a user meets it."""

import tarfile

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("1.jpg", "1.cls", "2.jpg", "2.cls"):
        (tmp_path / "2024").mkdir(exist_ok=True)
        (tmp_path / "2024" / name).write_text(name)
    return tmp_path


def test_a_folder_becomes_shards_and_the_next_command_is_named(argosy, here):
    done = argosy("data", "pack", "2024", "--out", "data/2024", "--split", "test", "--bytes", "2k")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "data/2024: 2 samples, 0.0 MB, in 2 shards; `dvc add data/2024` puts it under DVC\n"
    assert "2 of 2 samples packed" in done.stderr
    with tarfile.open(here / "data/2024/test-000001.tar") as shard:
        assert shard.getnames() == ["2.cls", "2.jpg"]


def test_what_cannot_be_packed_is_told_in_a_line_and_nothing_is_written(argosy, here):
    done = argosy("data", "pack", "nowhere", "--out", "data")
    assert done.returncode == 2
    assert done.stderr.endswith("nowhere: is no folder; name the one whose files are to be packed\n")
    assert done.stderr.count("\n") == 1
    assert not (here / "data").exists()


def test_modules_in_the_working_directory_do_not_come_before_the_libraries(argosy, here):
    (here / "pydantic.py").write_text("raise SystemExit('the wrong one')")
    done = argosy("data", "pack", "2024", "--out", "data")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", ["0", "much", "-1"])
@pytest.mark.usefixtures("here")
def test_a_size_that_is_none_is_refused(size, argosy):
    done = argosy("data", "pack", "2024", "--out", "data", "--bytes", size)
    assert done.returncode == 2
    assert f"'{size}' is no amount of space" in done.stderr
