"""The git revision of a project: the commit that its files are, on whose code and data a run here works."""

import subprocess
from pathlib import Path

from argosy.pipelines.commands.mistake import Mistake

DIRTY = "-dirty"

COUNTED = (":/", ":(exclude).argosy", ":(exclude,top,glob)**/__pycache__/**")
"""The repository's files, new ones among them, without those that a run itself leaves behind."""


def head(project: Path) -> str:
    """The commit that is checked out, with `-dirty` where files differ from it or are new and not ignored.

    Empty without git or commit.
    """
    commit = _commit(project, "HEAD")
    return commit + DIRTY if commit and _git(project, "status", "--porcelain", "--", *COUNTED) else commit


def of_files(given: str, project: Path) -> str:
    """The revision of the files on disk, whose code a run on this machine executes.

    A revision that is given must name it, as any name of the commit. Raises Mistake.
    """
    now = head(project)
    if given in ("", now):
        return now
    commit = now.removesuffix(DIRTY)
    named = _commit(project, given)
    if not named:
        raise Mistake(f"parameter 'revision': {project} has no commit {given}; leave the parameter out")
    elsewhere = f"or `git worktree add FOLDER {given}` and run there"
    if named != commit:
        what = f"{given} is {named[:12]}, but the files here are of {commit[:12]}, and it is they that run"
        raise Mistake(f"parameter 'revision': {what}; `git checkout {given}`, {elsewhere}")
    if now != commit:
        what = f"files differ from {given}, or are new, and it is they that run"
        raise Mistake(f"parameter 'revision': {what}; commit them, leave the parameter out, {elsewhere}")
    return commit


def is_pinned(revision: str) -> bool:
    """Whether a revision says what the project's files held."""
    return bool(revision) and not revision.endswith(DIRTY)


def _commit(project: Path, name: str) -> str:
    """Its 40 hexadecimal digits; empty where there is none."""
    return _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def _git(project: Path, *words: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(project), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""
