"""Progress as Argo reads it: the last line of a file, N/M."""

from argosy.steps.progress import PROGRESS_FILE, Progress


def test_first_and_last_are_reported_and_what_comes_too_soon_is_not(tmp_path, monkeypatch, capsys):
    file = tmp_path / "progress"
    monkeypatch.setenv(PROGRESS_FILE, str(file))
    progress = Progress(100)
    for done in range(1, 101):
        progress.report(done, lambda done=done: f"did {done}")
    assert file.read_text() == "1/100\n100/100\n"
    assert capsys.readouterr().err == "did 1\ndid 100\n"


def test_without_the_variable_no_file_is_needed(monkeypatch, capsys):
    monkeypatch.delenv(PROGRESS_FILE, raising=False)
    Progress(1).report(1, lambda: "done")
    assert capsys.readouterr().err == "done\n"
