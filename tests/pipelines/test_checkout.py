"""A commit's files beside the project's own: there while they are needed, whatever an earlier command left behind."""

import shutil
import subprocess

import pytest

from argosy.pipelines.commands import checkout, revision
from argosy.pipelines.commands.mistake import Mistake


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def project(tmp_path):
    """A project with two commits; in the first its file says `old`."""
    folder = tmp_path / "the project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text(".argosy/\n")
    for text in ("old", "new"):
        (folder / "file").write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", text)
    return folder


@pytest.fixture
def first(project):
    return git(project, "rev-parse", "HEAD~1").strip()


def texts(project, commit):
    with checkout.of(commit, project) as folder:
        return (folder / "file").read_text(), folder


def test_the_commits_files_are_there_and_gone_afterwards(project, first):
    text, folder = texts(project, first)
    assert (text, folder.exists(), (project / "file").read_text()) == ("old", False, "new")
    assert git(project, "worktree", "list").count("\n") == 1


def killed(project, first):
    """What a command leaves that is killed while it needs the files."""
    folder = project / ".argosy/reproductions" / first[:12]
    git(project, "worktree", "add", "--lock", "--detach", str(folder), first)
    (folder / "file").write_text("half")
    return folder


@pytest.fixture
def installed(project, monkeypatch):
    """A module in a folder of the project's that is on the path, as after `pip install -e`; the commit with it."""
    (project / "src").mkdir()
    (project / "src/seen.py").write_text("old")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "A module")
    monkeypatch.syspath_prepend(str(project / "src"))
    return git(project, "rev-parse", "HEAD").strip()


def test_a_module_that_is_installed_from_the_projects_files_must_be_the_commits(project, installed):
    with checkout.of(installed, project) as folder:
        checkout.require("seen", folder, installed, project)
        (project / "file").write_text("other")
        checkout.require("seen", folder, installed, project)
        (project / "src/seen.py").write_text("new")
        with pytest.raises(Mistake, match=rf"seen is installed .* src/seen\.py differ from commit {installed[:12]}; "):
            checkout.require("seen", folder, installed, project)


def test_a_module_that_is_in_the_commits_files_may_differ_in_the_projects(project, installed):
    with checkout.of(installed, project) as folder:
        (folder / "seen.py").write_text("the commit's")
        (project / "src/seen.py").write_text("new")
        checkout.require("seen", folder, installed, project)


@pytest.mark.parametrize("module", ["json", "nowhere"])
def test_a_library_is_not_the_projects(project, first, module):
    with checkout.of(first, project) as folder:
        checkout.require(module, folder, first, project)


def test_a_library_that_lies_in_the_project_is_not_its_own(project, installed):
    (project / "src/library.py").write_text("git does not know it")
    (project / "src/seen.py").write_text("new")
    with checkout.of(installed, project) as folder:
        checkout.require("library", folder, installed, project)


def test_files_that_a_killed_command_left_are_made_anew(project, first):
    killed(project, first)
    assert texts(project, first)[0] == "old"


def test_a_folder_that_was_deleted_behind_gits_back_is_made_anew(project, first):
    killed(project, first)
    shutil.rmtree(project / ".argosy")
    assert texts(project, first)[0] == "old"


def test_a_folder_that_git_does_not_know_is_made_anew(project, first):
    folder = project / ".argosy/reproductions" / first[:12]
    folder.mkdir(parents=True)
    (folder / "file").write_text("half")
    assert texts(project, first)[0] == "old"


def test_two_commands_do_not_share_a_commits_files(project, first):
    with checkout.of(first, project), pytest.raises(Mistake, match="is in use by another reproduction"):
        texts(project, first)
    assert texts(project, first)[0] == "old"


def test_a_commit_that_is_not_here_is_a_mistake_that_says_what_to_do(project):
    with pytest.raises(Mistake, match="`git fetch` it"):
        texts(project, "0" * 40)


def test_the_folder_is_named_by_the_commit_however_that_is_called(project, first):
    assert texts(project, "HEAD~1")[1].name == first[:12]


def test_what_a_recipe_calls_a_commit_is_no_option_of_gits(project, first, tmp_path):
    assert "file" in revision.stat(first, "HEAD", project)
    assert revision.stat(f"--output={tmp_path / 'written'}", "HEAD", project) == ""
    assert not (tmp_path / "written").exists()
