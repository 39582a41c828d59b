"""The parameter `revision` of a run here is the commit whose files run, whole, or says that it is none."""

import json
import re
import subprocess

import pytest


@pytest.fixture
def with_revision(project):
    """`greeting.yaml` has a parameter `revision` without a value."""
    file = project / "greeting.yaml"
    more = '{name: word, value: hello}, {name: revision, value: ""}'
    file.write_text(file.read_text().replace("{name: word, value: hello}", more))


@pytest.fixture
def repository(project, with_revision):  # noqa: ARG001 - alters what is committed
    """The commit of the project."""
    (project / ".gitignore").write_text(".argosy/\n")
    git("init", "-q")
    git("add", "-A")
    commit("-m", "x")
    return git("rev-parse", "HEAD")


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def commit(*words):
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", *words)


def revision_of_the_newest(argosy):
    parameters = json.loads(argosy("show", "--json").stdout)["spec"]["arguments"]["parameters"]
    return next(one["value"] for one in parameters if one["name"] == "revision")


def test_an_empty_revision_is_filled_with_the_commit(argosy, repository):
    assert argosy("run", "greeting.yaml").returncode == 0
    assert revision_of_the_newest(argosy) == repository
    assert " exists, " in argosy("run", "greeting.yaml").stdout


def test_a_hook_of_another_repository_does_not_lend_its_commit(argosy, repository, monkeypatch, tmp_path):
    """A hook runs with the variables by which git tells it of its own repository."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another.git"))
    assert argosy("run", "greeting.yaml").returncode == 0
    assert revision_of_the_newest(argosy) == repository


def test_a_revision_that_is_given_empty_is_filled_too(argosy, repository):
    assert argosy("run", "greeting.yaml", "-p", "revision=").returncode == 0
    assert revision_of_the_newest(argosy) == repository


def test_a_revision_of_a_manifest_that_is_not_argosys_stays(argosy, repository):
    assert argosy("run", "greeting.yaml", "-p", f"revision={repository[:4]}").returncode == 0
    assert revision_of_the_newest(argosy) == repository[:4]


@pytest.fixture
def labelled(project):
    """`greeting.yaml` is argosy's own."""
    file = project / "greeting.yaml"
    label = "{generateName: greet-, labels: {argosy/pipeline: greet}}"
    file.write_text(file.read_text().replace("{generateName: greet-}", label))


@pytest.mark.usefixtures("labelled")
def test_every_name_of_the_commit_is_the_same_run_and_stands_there_whole(argosy, repository):
    names = [argosy("run", "greeting.yaml", "-p", f"revision={name}").run for name in ("HEAD", repository[:10], "")]
    assert len({argosy("run", "greeting.yaml").run, *names}) == 1
    assert revision_of_the_newest(argosy) == repository


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("HEAD~1", "but the files here are of .*; `git checkout HEAD~1`, or `git worktree add"),
        ("nope", "no commit nope"),
    ],
)
def test_a_revision_that_is_not_the_code_that_would_run_is_refused(argosy, repository, project, name, told):
    commit("--allow-empty", "-m", "another")
    done = argosy("run", "greeting.yaml", "-p", f"revision={name}")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(f"argosy: parameter 'revision': .*{told}", done.stderr)
    assert not (project / ".argosy").exists(), repository


@pytest.mark.usefixtures("labelled")
def test_a_commit_that_the_files_differ_from_is_refused(argosy, repository, project):
    (project / "failing.yaml").write_text("changed")
    done = argosy("run", "greeting.yaml", "-p", f"revision={repository}")
    assert done.returncode == 2
    assert "files differ from" in done.stderr
    assert argosy("run", "greeting.yaml", "-p", f"revision={repository}-dirty").returncode == 0


@pytest.mark.parametrize("file", ["failing.yaml", "new.py"])
def test_changed_and_new_files_are_dirty_and_each_run_of_them_is_its_own(argosy, repository, project, file):
    (project / file).write_text("changed")
    first, second = (argosy("run", "greeting.yaml").run for _ in range(2))
    assert revision_of_the_newest(argosy) == f"{repository}-dirty"
    assert second == f"{first}-2"


@pytest.mark.usefixtures("with_revision")
def test_without_git_the_revision_stays_empty(argosy):
    assert argosy("run", "greeting.yaml").returncode == 0
    assert revision_of_the_newest(argosy) == ""
