"""The CI files that `argosy trigger` prints: their YAML is read, and their shell lines are run in a real project."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
from fakeargo import NAMESPACE, TOKEN, FakeArgo

from argosy.pipelines import scaffold
from argosy.pipelines.trigger import ci

PROGRAMS = Path(sys.executable).parent
IDENTITY = {f"GIT_{who}_{what}": "user@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
LOCK = """
schema: '2.0'
stages:
  prepare:
    cmd: 'true'
    outs:
    - path: data/irises
      hash: md5
      md5: 00000000000000000000000000000000.dir
      size: 1
      nfiles: 1
"""


@pytest.fixture
def argo():
    server = FakeArgo()
    yield server
    server.stop()


@pytest.fixture
def iris(tmp_path):
    """The project of `argosy init`, without data: a commit on main, and one on a branch that changes the pipeline."""
    folder = tmp_path / "iris-kinds"
    scaffold.write("iris-kinds", folder)
    (folder / "dvc.lock").write_text(LOCK)
    shell(folder, "git init -q -b main && git add --all && git commit -q -m base && git checkout -q -b change")
    change(folder, "at_least=0.70", "at_least=0.75")
    shell(folder, "git commit -q -a -m head")
    return folder


def change(folder, old, new):
    path = folder / "pipelines" / "iris_kinds.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def shell(folder, lines, **environment):
    """As GitHub and GitLab run lines: bash that ends at the first command that fails."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("ARGO_", "GIT_"))}
    own |= IDENTITY | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", lines], cwd=folder, env=own | environment, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def lines_of_github(text, job):
    """The shell lines of a job, but for the installation: what it installs is installed here."""
    steps = yaml.safe_load(text)["jobs"][job]["steps"]
    return [step["run"] for step in steps if "run" in step and "pip install" not in step["run"]]


def checked_by_github(text, folder, temporary):
    temporary.mkdir()
    summary = temporary / "summary"
    environment = {
        "FOLDER": str(temporary),
        "GITHUB_STEP_SUMMARY": str(summary),
        "BASE": shell(folder, "git rev-parse main"),
    }
    for lines in lines_of_github(text, "check"):
        shell(folder, lines, **environment)
    return summary.read_text()


def checked_by_gitlab(text, folder, temporary):
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary), "BASE": shell(folder, "git rev-parse main")}
    for lines in yaml.safe_load(text)["check"]["script"]:
        shell(folder, lines, **environment)
    return (folder / "manifest.diff").read_text()


CHECKS = {"github": checked_by_github, "gitlab": checked_by_gitlab}


PRINTS = {"github": ci.github, "gitlab": ci.gitlab}


@pytest.fixture(params=CHECKS)
def printed(request):
    """The file of one provider, and what checks a merge request by it."""
    return PRINTS[request.param]("iris-kinds"), CHECKS[request.param]


def test_a_merge_request_shows_how_the_manifest_changes(printed, iris, tmp_path):
    text, check = printed
    shown = check(text, iris, tmp_path / "temporary")
    assert (
        "\n-      value: '0.7'\n+      value: '0.75'\n" in shown or "-    value: '0.7'\n+    value: '0.75'\n" in shown
    )
    assert len([line for line in shown.splitlines() if line.startswith(("+", "-"))]) == 4
    assert shell(iris, "git worktree list | wc -l") == "1"


def test_the_base_is_compiled_with_its_own_modules(printed, iris, tmp_path, monkeypatch):
    text, check = printed
    monkeypatch.setenv("PYTHONPATH", str(iris))  # as if it were installed
    path = iris / "iris_kinds" / "hyperparameters.py"
    path.write_text(path.read_text().replace("default=60,", "default=61,"))
    shell(iris, "git checkout -q -B change main && git commit -q -a -m hyperparameters")
    shown = check(text, iris, tmp_path / "temporary")
    assert "value: '61'" in shown
    assert "value: '60'" in shown


def test_a_change_that_leaves_the_manifest_as_it_is_shows_none(printed, iris, tmp_path):
    text, check = printed
    shell(iris, "git checkout -q -B change main && git commit -q --allow-empty -m nothing")
    assert "+" not in check(text, iris, tmp_path / "temporary")


def test_a_pipeline_that_is_new_is_shown_whole(printed, iris, tmp_path):
    text, check = printed
    shell(
        iris,
        "git checkout -q main && git rm -q pipelines/iris_kinds.py && git commit -q -m none && git checkout -q change",
    )
    assert "+kind: Workflow\n" in check(text, iris, tmp_path / "temporary")


def test_a_pipeline_with_a_problem_fails_the_check(printed, iris, tmp_path):
    text, check = printed
    change(iris, "at_least=0.75", "at_least=7.5")
    with pytest.raises(AssertionError, match=r"7\.5 is not below 1"):
        check(text, iris, tmp_path / "temporary")


def submitting(text):
    document = yaml.safe_load(text)
    if "jobs" in document:
        return lines_of_github(text, "submit")
    return document["submit"]["script"]


def test_the_main_branch_submits_its_commit(printed, iris, argo):
    text, _ = printed
    settings = {"ARGO_SERVER": argo.address, "ARGO_SECURE": "false", "ARGO_NAMESPACE": NAMESPACE, "ARGO_TOKEN": TOKEN}
    head = shell(iris, "git rev-parse HEAD")
    for lines in submitting(text):
        shell(iris, lines, **settings)
    (run,) = argo.workflows.values()
    values = {one["name"]: one["value"] for one in run["spec"]["arguments"]["parameters"]}
    assert values["revision"] == head


@pytest.mark.parametrize("provider", PRINTS)
def test_the_command_prints_the_file(iris, provider):
    assert shell(iris, f"argosy trigger {provider} iris-kinds") + "\n" == PRINTS[provider]("iris-kinds")


def test_each_job_of_gitlab_is_for_its_own_event():
    document = yaml.safe_load(ci.gitlab("iris-kinds"))
    conditions = {name: job["rules"] for name, job in document.items() if "rules" in job}
    assert conditions == {
        "check": [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}],
        "submit": [{"if": '$CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH'}],
    }


@pytest.mark.parametrize("provider", CHECKS)
@pytest.mark.parametrize("name", ["a; touch ran", "two words", "$(id)", "a: b", "-x", "{{x}}"])
def test_a_name_that_a_shell_would_read_in_another_way_gets_no_file(iris, provider, name):
    (iris / "pipelines" / "iris_kinds.py").rename(iris / "pipelines" / f"{name}.py")
    command = [PROGRAMS / "argosy", "trigger", provider, "--", name]
    done = subprocess.run(command, cwd=iris, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"is more than letters, digits and dashes; rename {name}.py" in done.stderr


def test_every_action_is_pinned_to_a_commit():
    document = yaml.safe_load(ci.github("iris-kinds"))
    uses = [step["uses"] for job in document["jobs"].values() for step in job["steps"] if "uses" in step]
    assert uses
    assert all(len(one.partition("@")[2]) == 40 for one in uses)
    assert document["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("provider", CHECKS)
@pytest.mark.parametrize("name", ["iris", "pipelines/iris_kinds.py", "x; touch y", "{{x}}"])
def test_a_pipeline_that_the_project_does_not_have_gets_no_file(iris, provider, name):
    command = [PROGRAMS / "argosy", "trigger", provider, name]
    done = subprocess.run(command, cwd=iris, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no pipeline {name!r}; " in done.stderr
