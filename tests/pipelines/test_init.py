"""`argosy init`: what it makes runs, and it harms nothing that is there."""

import glob
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest

from argosy.pipelines import scaffold

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
IDENTITY = {f"GIT_{who}_{what}": "user@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
FILES = {str(path.relative_to(scaffold.TEMPLATE)) for path in scaffold.TEMPLATE.rglob("*") if path.is_file()}


def call(folder, program, *words, **environment):
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [PROGRAMS / program if (PROGRAMS / program).exists() else program, *words], cwd=folder, capture_output=True,
        text=True, check=False, env=os.environ | IDENTITY | {"PATH": path} | environment, timeout=500,
    )  # fmt: skip


def init(folder, name="my-model", **environment):
    return call(folder, "argosy", "init", name, **environment)


def broken_dvc(folder):
    """Environment in which `python -m dvc` cannot be run: what follows from it is quick to see."""
    (folder / "dvc").mkdir(parents=True)
    (folder / "dvc" / "__init__.py").touch()
    return {"PYTHONPATH": str(folder)}


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------------------------------------- the project


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    return init(folder, "iris-kinds"), folder / "iris-kinds"


def test_a_project_is_made_whole_and_the_next_command_is_told(made):
    done, project = made
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(
        "iris-kinds is made, ready to run\n\n  next  cd iris-kinds\n        argosy run iris-kinds\n"
    )
    assert [path.name for path in project.parent.iterdir()] == ["iris-kinds"]


def test_a_project_is_committed_and_its_data_is_in_the_remote(made):
    _, project = made
    tracked = set(call(project, "git", "ls-files").stdout.split())
    assert tracked == {scaffold.renamed(file.removesuffix("-tpl"), "iris-kinds") for file in FILES} | {"dvc.lock"}
    assert call(project, "git", "status", "--porcelain").stdout == ""
    assert "in sync" in call(project, "dvc", "status", "--cloud").stdout
    assert "up to date" in call(project, "dvc", "status").stdout


def test_no_analytics_are_sent(made):
    assert call(made[1], "dvc", "config", "core.analytics").stdout == "false\n"


@pytest.mark.parametrize("words", [["ruff", "check"], ["ruff", "format", "--check"]], ids=" ".join)
def test_a_project_is_clean_by_its_own_rules(made, words):
    done = call(made[1], *words)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", ["", str(ROOT / ".dev")], ids=["argosy hidden by an editable install", "argosy seen"])
def test_a_projects_types_are_right(made, path):
    done = call(made[1], "mypy", MYPYPATH=path)
    assert done.returncode == 0, done.stdout


def test_the_readmes_installation_is_one_that_every_pip_takes(made):
    _, project = made
    (line,) = [line for line in (project / "README.md").read_text().splitlines() if line.startswith("pip install ")]
    dry = ["--dry-run", "--no-deps", "--no-build-isolation", "--quiet"]
    done = call(project, sys.executable, "-m", *shlex.split(line), *dry)
    assert done.returncode == 0, done.stderr
    assert "does not provide the extra" not in done.stderr


def test_a_projects_own_tests_pass(made):
    done = call(made[1], "pytest", "-q", "-W", "error")
    assert done.returncode == 0, done.stdout


def test_the_first_run_registers_a_version(made):
    done = call(made[1], "argosy", "run", "iris-kinds")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "registered  iris-kinds version 1" in done.stdout
    assert call(made[1], "git", "status", "--porcelain").stdout == ""


def test_every_file_of_the_template_has_the_ending_that_keeps_it_from_our_tools():
    assert [file for file in FILES if not file.endswith(scaffold.SUFFIX)] == []


def test_the_wheel_holds_every_file_of_the_template():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = pyproject["tool"]["setuptools"]["package-data"].get("argosy.pipelines", [])
    room = scaffold.TEMPLATE.parent
    matches = partial(glob.glob, root_dir=room, recursive=True)  # setuptools goes by its rules, not by Path.glob's
    packed = {file for pattern in patterns for file in matches(pattern)}
    assert packed == {f"{scaffold.TEMPLATE.name}/{file}" for file in FILES}


@pytest.mark.parametrize("name", ["a", "zoo", "x" * 57])
def test_a_project_of_any_name_is_in_order(tmp_path, name):
    scaffold.write(name, tmp_path / name)
    for words in (["check"], ["format", "--check"]):
        done = call(tmp_path / name, "ruff", *words)
        assert done.returncode == 0, done.stdout
    left = [path for path, text in content(tmp_path).items() if b"my-model" in text or b"my_model" in text]
    assert left == []


# ---------------------------------------------------------------------------------------------- names


REFUSED = {
    "": "is no name: it takes lower-case letters, digits and -, a letter first; write my-model",
    ".": "write my-model",
    "../up": "write up",
    "/abs/path": "write abs-path",
    "My_Model": "write my-model",
    "3d": "write d",
    "modèle": "write modele",
    "x" * 58: "has 58 characters; leave 57 at most",
    "class": "is a word of Python's, and no package can have its name; choose another name, such as class-model",
    "tests": "is a folder that a project has anyway",
    "data": "is a folder that a project has anyway",
    "argosy": "there is a Python module argosy already",
    "torch": "there is a Python module torch already",
    "json": "there is a Python module json already",
    "ruff": "there is a Python module ruff already",
    "typing-extensions": "there is a Python module typing_extensions already",
}


@pytest.mark.parametrize(("name", "told"), REFUSED.items(), ids=REFUSED)
def test_a_name_that_cannot_be_used_is_refused_with_one_that_can(tmp_path, name, told):
    done = init(tmp_path, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("argosy: ")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------- what is there


@pytest.mark.parametrize("kind", ["folder", "file", "link to a folder", "link to nothing"])
def test_what_has_the_name_already_is_left_alone(tmp_path, kind):
    target, elsewhere = tmp_path / "my-model", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if kind == "folder":
        target.mkdir()
        (target / "work.txt").write_text("of weeks")
    elif kind == "file":
        target.write_text("of weeks")
    else:
        target.symlink_to(elsewhere if kind == "link to a folder" else "nothing")
    before = content(tmp_path)
    done = init(tmp_path)
    assert done.returncode == 2
    assert done.stderr == "argosy: my-model is there already; choose another name, or move it away\n"
    assert content(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == 2


def test_an_empty_folder_becomes_the_project(tmp_path):
    (tmp_path / "my-model").mkdir()
    init(tmp_path, PATH="/nowhere")
    assert (tmp_path / "my-model" / "README.md").is_file()


def test_an_interruption_leaves_nothing_behind(tmp_path):
    environment = os.environ | IDENTITY
    with subprocess.Popen(
        [PROGRAMS / "argosy", "init", "my-model"], cwd=tmp_path, env=environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert any("dvc repro" in line for line in process.stdout)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60)[1].strip() == "argosy: interrupted"
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_git_hook_that_calls_it_keeps_its_repository(tmp_path):
    assert call(tmp_path, "git", "init", "outer").returncode == 0
    before = content(tmp_path / "outer")
    work = tmp_path / "work"
    work.mkdir()
    init(work, GIT_DIR=str(tmp_path / "outer" / ".git"), **broken_dvc(tmp_path / "modules"))
    assert content(tmp_path / "outer") == before
    assert (work / "my-model" / ".git" / "HEAD").is_file()


# ---------------------------------------------------------------------------------------------- what is missing


def test_without_an_identity_the_commit_is_left_to_the_user(tmp_path):
    nobody = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.useConfigOnly", "GIT_CONFIG_VALUE_0": "true"}
    nobody |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"} | dict.fromkeys(IDENTITY, "")
    done = init(tmp_path, **nobody)
    assert done.returncode == 0
    assert "my-model is made, but `git commit --message 'A training pipeline'` failed: fatal: " in done.stdout
    assert done.stdout.endswith(
        "next  cd my-model\n        git commit --message 'A training pipeline'\n        argosy run my-model\n"
    )
    assert (tmp_path / "my-model" / "dvc.lock").is_file()


def test_without_dvc_the_project_is_made_and_what_is_left_is_told(tmp_path):
    done = init(tmp_path, **broken_dvc(tmp_path / "modules"))
    assert done.returncode == 0
    _, _, left = done.stdout.partition("is made, but `dvc repro` failed: ")
    assert [line.removeprefix("  next").strip() for line in left.splitlines()][2:] == [
        "cd my-model",
        "pip install --editable .",
        "dvc repro",
        "dvc push",
        "git add --all",
        "git commit --message 'A training pipeline'",
        "argosy run my-model",
    ]


def test_without_git_the_reason_is_told(tmp_path):
    done = init(tmp_path, PATH="/nowhere")
    assert "is made, but `git init` failed: git is not installed" in done.stdout
