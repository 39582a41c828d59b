"""A commit's files beside the project's own, as long as a command needs them."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argosy.pipelines import git
from argosy.pipelines.checks import sources
from argosy.pipelines.commands import place, revision
from argosy.pipelines.commands.mistake import Mistake

FOLDER = "reproductions"


@contextmanager
def of(commit: str, project: Path) -> Iterator[Path]:
    """The project at this commit. One that a killed command left behind is taken up. Raises Mistake."""
    whole = revision.whole(commit, project)
    if not whole:
        raise Mistake(f"commit {commit} is not known in {project}; `git fetch` it")
    folder = project / place.HOME / FOLDER / whole[:12]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Mistake(f"commit {whole[:12]} is in use by another reproduction; wait for its end") from None
        _remove(project, folder)
        # Twice forced: over git's own note of a folder that was deleted, also of one that it has locked.
        _git(project, "worktree", "add", "--force", "--force", "--quiet", "--detach", str(folder), whole)
        try:
            yield folder / _git(project, "rev-parse", "--show-prefix")
        finally:
            _remove(project, folder)


def require(module: str, folder: Path, commit: str, project: Path) -> None:
    """A module that pods find in the project's own files, since these are installed (pip install -e), and not in the
    commit's in this folder, is as it was in the commit. Raises Mistake.
    """
    top = Path(_git(project, "rev-parse", "--show-toplevel"))
    file = _file(module, folder)
    if file is None or not file.is_relative_to(top) or not _git(top, "ls-files", "--", str(file)):
        return  # a library, which may lie in the project, as in .venv; or it is in this folder, which git does not list
    part = file.relative_to(top).parts[0]
    if differing := _git(top, "diff", "--name-only", commit, "--", part).splitlines():
        what = f"{module} is installed from this project's files, and {', '.join(differing[:3])} differ"
        remedy = f"`git checkout {commit[:12]}` and try again, or --here takes the files as they are"
        raise Mistake(f"{what} from commit {commit[:12]}; {remedy}")


def _file(module: str, folder: Path) -> Path | None:
    """Of a module as a pod finds it that runs in this folder."""
    sys.path.insert(0, str(folder))
    try:
        spec = sources.found(module)
    finally:
        sys.path.remove(str(folder))
    return Path(spec.origin).resolve() if spec and spec.origin else None


def _remove(project: Path, folder: Path) -> None:
    """Twice forced: also one that git has locked while it was being made; and what git does not know as its own."""
    if not folder.exists():
        return
    try:
        _git(project, "worktree", "remove", "--force", "--force", str(folder))
    except Mistake:
        shutil.rmtree(folder)


def _git(project: Path, *words: str) -> str:
    command = ["git", "-C", str(project), *words]
    done = subprocess.run(command, env=git.environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Mistake(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
