"""`argosy init`: a new project of the user's own, ready to run."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import click

Words = Sequence[str]

BEGINNING: Sequence[Words] = (
    ("git", "init"),
    ("dvc", "repro"),
    ("dvc", "push"),
    ("git", "add", "--all"),
    ("git", "commit", "--message", "A training pipeline"),
)
"""What makes a project of a folder of files, in this order."""

INSTALL: Words = ("pip", "install", "--editable", ".")
"""Brings what a project imports."""

INSIDE_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables with which git would take another repository for the new project's."""


@click.command(epilog="Example: argosy init my-model")
@click.argument("name")
def init(name: str) -> None:
    """Make a project of your own, ready to run.

    NAME becomes a folder in the working directory, and the name of the pipeline in it. The folder holds a small
    pipeline with its task, its data and its tests, in a git repository with a DVC remote. What exists is left alone.
    """
    from argosy.pipelines import scaffold

    scaffold.check_name(name)
    target = Path.cwd() / name
    _refuse_occupied(target)
    # Beside the target, to be renamed in one step.
    with TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as temporary:
        project = Path(temporary) / name
        scaffold.write(name, project)
        left, reason = _begun(project, _environment(Path(temporary)))
        try:
            project.rename(target)
        except OSError:
            _refuse_occupied(target)
            raise
    _tell(target, left, reason)


def _refuse_occupied(target: Path) -> None:
    """Raises Mistake where there is something already that would be lost."""
    from argosy.pipelines.commands.mistake import Mistake

    is_empty_folder = target.is_dir() and not target.is_symlink() and not any(target.iterdir())
    if os.path.lexists(target) and not is_empty_folder:
        raise Mistake(f"{target.name} is there already; choose another name, or move it away")


def _begun(project: Path, environment: Mapping[str, str]) -> tuple[Sequence[Words], str]:
    """Do what can be done: the commands that are left to the user, and why the first of them failed."""
    for number, words in enumerate(BEGINNING):
        click.echo(f"  {shlex.join(words)}")
        if reason := _failure(words, project, environment):
            return BEGINNING[number:], reason
    return (), ""


def _failure(words: Words, project: Path, environment: Mapping[str, str]) -> str:
    """Run a command; the last thing it said if it failed."""
    program = [sys.executable, "-m", "dvc"] if words[0] == "dvc" else [words[0]]
    try:
        done = subprocess.run(
            [*program, *words[1:]], cwd=project, env=environment, stdin=subprocess.DEVNULL, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    except FileNotFoundError:
        return f"{words[0]} is not installed"
    said = done.stdout.split("\n")
    return "" if done.returncode == 0 else next((line for line in reversed(said) if line.strip()), "it said nothing")


def _environment(temporary: Path) -> dict[str, str]:
    """Of git and DVC: the stage's `python` is this one, and nothing is remembered of a folder that will be renamed."""
    environment = {name: value for name, value in os.environ.items() if name not in INSIDE_A_HOOK}
    path = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    return environment | {"PATH": path, "DVC_SITE_CACHE_DIR": str(temporary / "dvc")}


def _tell(target: Path, left: Sequence[Words], reason: str) -> None:
    from argosy.pipelines.commands import place

    with chdir(target):
        run = (place.program("argosy"), "run", target.name)
    install = [INSTALL] if left and left[0][0] == "dvc" else []
    commands = [("cd", target.name), *install, *left, run]
    state = f"but `{shlex.join(left[0])}` failed: {reason}" if left else "ready to run"
    click.echo(f"\n{target.name} is made, {state}\n")
    for number, words in enumerate(commands):
        click.echo(f"  {'next' if number == 0 else '':<4}  {shlex.join(words)}")
