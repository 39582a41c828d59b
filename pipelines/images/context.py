"""The folders that images are made of: nothing is in them that does not belong into the image."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from argosy.pipelines import git
from argosy.pipelines.errors import Problem, Refusal
from argosy.pipelines.images.project import LOCK, Definition, locked

ARGOSY = Path(__file__).parents[2]
"""Where the rooms and `images` of the argosy that runs lie, in a checkout and in an installation alike."""

REVISION = ".argosy-revision"
"""Beside the project's files in an image: the commit they are of."""

DIRTY = "-dirty"
LEFT_BEHIND = (".argosy", ":(glob)**/__pycache__/**")
"""What a run itself leaves in a project, ignored by git or not."""


def containerfile(tier: str, project: Path) -> Path:
    """The project's own, where it has one."""
    own = project / "images" / tier / "Containerfile"
    return own if own.is_file() else ARGOSY / "images" / tier / "Containerfile"


def framework(folder: Path, project: Path, definition: Definition) -> None:
    """What is installed, and in which versions. Raises Refusal."""
    (folder / LOCK).write_text(locked(project), encoding="utf-8")
    wanted = json.dumps(definition.requirements(), indent=4)  # an array of TOML's as well
    text = f'[project]\nname = "pods"\nversion = "0"\ndependencies = {wanted}\n'
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def project(folder: Path, project: Path, revision: str) -> None:
    """The steps of argosy, and the files of the project: the commit's, or as they are for one that ends in `-dirty`."""
    shutil.copytree(ARGOSY / "steps", folder / "argosy" / "steps", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / REVISION).write_text(revision, encoding="utf-8")
    index = {"GIT_INDEX_FILE": str(folder / "index")}
    tree = revision
    if revision.endswith(DIRTY):
        _git(project, "read-tree", revision.removesuffix(DIRTY), environment=index)
        _git(project, "add", "--all", "--", ".", environment=index)
        _git(project, "rm", "--cached", "-r", "--quiet", "--ignore-unmatch", "--", *LEFT_BEHIND, environment=index)
        tree = _git(project, "write-tree", environment=index)
        (folder / "index").unlink()
    _git(project, "-c", "tar.umask=0022", "archive", "--output", str(folder / "project.tar"), tree)


def _git(project: Path, *words: str, environment: Mapping[str, str] | None = None) -> str:
    command = ["git", "-C", str(project), *words]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=git.environment() | dict(environment or {}),
    )
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise Refusal([Problem(str(project), f"git cannot give its files: {said}", "mend the repository")])
    return done.stdout.strip()
