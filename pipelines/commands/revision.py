"""The git revision of a project: the commit that its files are, on whose code and data a run works."""

import getpass
import re
import subprocess
from pathlib import Path

from argosy.pipelines import git
from argosy.pipelines.commands.mistake import Mistake
from argosy.pipelines.images.lock import FILE as IMAGES_LOCK

DIRTY = "-dirty"

_WHOLE = re.compile(r"[0-9a-f]{40}")

COUNTED = (":/", ":(exclude).argosy", ":(exclude,top,glob)**/__pycache__/**")
"""The repository's files, new ones among them, without those that a run itself leaves behind."""


def head(project: Path) -> str:
    """The commit that is checked out, with `-dirty` where files differ from it or are new and not ignored.

    Empty without git or commit.
    """
    commit = whole("HEAD", project)
    return commit + DIRTY if commit and _git(project, "status", "--porcelain", "--", *COUNTED) else commit


def of_files(given: str, project: Path) -> str:
    """The revision of the files on disk, whose code a run on this machine executes.

    A revision that is given must name it, as any name of the commit. Raises Mistake.
    """
    now = head(project)
    if given in ("", now):
        return now
    commit = now.removesuffix(DIRTY)
    named = whole(given, project)
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


def of_cluster(given: str, project: Path, *, is_compiled_here: bool) -> str:
    """The whole commit whose code and data a run on a cluster works on: the files' own, where none is given.

    What is compiled from the files is of their commit alone. Files that differ from it are refused: a pod has the
    image's or the repository's, and `-dirty` would name nothing that anyone could run again. Raises Mistake.
    """
    now = head(project)
    commit = now.removesuffix(DIRTY)
    if is_compiled_here or not given:
        if not commit:
            remedy = "commit the files, or submit a manifest with -p revision=COMMIT"
            raise Mistake(f"parameter 'revision': {project} has no commit, and a run on a cluster is of one; {remedy}")
        if now != commit:
            what = f"files differ from {commit[:12]}, or are new, and no pod would see them"
            raise Mistake(f"parameter 'revision': {what}; commit them, or `git stash -u`; `argosy run` runs them here")
    if not given:
        return commit
    named = whole(given, project) or (given if _WHOLE.fullmatch(given) else "")
    if not named:
        raise Mistake(f"parameter 'revision': {project} has no commit {given}; give all 40 digits, or fetch it")
    if is_compiled_here and named != commit:
        what = f"{given} is {named[:12]}, but the pipeline here is of {commit[:12]}"
        remedy = f"`git checkout {given}`, or `git worktree add FOLDER {given}` and submit there"
        raise Mistake(f"parameter 'revision': {what}; {remedy}")
    return named


def of_image(baked: str, commit: str, project: Path) -> str:
    """The commit whose files an image holds, if they are those of this commit.

    A commit that records the image in images.lock can be no other than a later one. Raises Mistake.
    """
    if not whole(baked, project):
        raise Mistake(f"{IMAGES_LOCK}: names an image of commit {baked}, which is not known here; `git fetch` it")
    if not whole(commit, project):
        what = f"{commit} is not known here, and {IMAGES_LOCK} names an image of {baked[:12]}"
        raise Mistake(f"parameter 'revision': {what}; `git fetch` it")
    differing = _git(project, "diff", "--name-only", baked, commit, "--", ":/", f":(exclude){IMAGES_LOCK}").split("\n")
    if differing != [""]:
        what = (
            f"{IMAGES_LOCK} names an image of commit {baked[:12]}, and files differ since: {', '.join(differing[:5])}"
        )
        raise Mistake(f"{what}; `argosy images build`, `push REGISTRY` and `lock` make one of these")
    return baked


def whole(name: str, project: Path) -> str:
    """The 40 hexadecimal digits of a commit of this name; empty where there is none."""
    return _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def is_known(commit: str, project: Path) -> bool:
    """Whether the project's repository here has the commit."""
    return bool(whole(commit, project))


def is_pushed(commit: str, project: Path) -> bool:
    """Whether a remote has the commit, as far as git knows here."""
    return bool(_git(project, "branch", "--remotes", "--contains", commit))


def stat(left: str, right: str, project: Path) -> str:
    """Which files two commits differ in, a line each; empty where one of them is not known here."""
    commits = [whole(one, project) for one in (left, right)]  # what a recipe says may be no name of one, but an option
    return _git(project, "diff", "--stat", *commits, "--", ":/") if all(commits) else ""


def branch(project: Path) -> str:
    """The branch that is checked out; empty without one."""
    return _git(project, "symbolic-ref", "--quiet", "--short", "HEAD")


def author(project: Path) -> str:
    """Who works here: git's user, or else the machine's."""
    name = _git(project, "config", "user.name")
    address = _git(project, "config", "user.email")
    if name or address:
        return f"{name} <{address}>".strip() if address else name
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name (KeyError before Python 3.13)
        return ""


def is_pinned(revision: str) -> bool:
    """Whether a revision says what the project's files held."""
    return bool(revision) and not revision.endswith(DIRTY)


def _git(project: Path, *words: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(project), *words]
    try:
        done = subprocess.run(command, env=git.environment(), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
