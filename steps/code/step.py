"""Code: the project's files at one commit, where the image would hold them.

Run again over what a killed attempt left, it begins anew. A folder that holds anything else is refused.
"""

import os
import re
import sys
import time
from pathlib import Path

from argosy.steps import files
from argosy.steps.code import lock
from argosy.steps.code.repository import Repository
from argosy.steps.contracts import CodeInput, CodeOutput
from argosy.steps.errors import configuration_error
from argosy.steps.stage.source import DIRTY

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A commit's whole hash, of either kind that git has."""

OURS = "argosy"
"""A file in the .git folder that says that this step made it."""


def run(inputs: CodeInput) -> CodeOutput:
    """Raises StepError: CONFIGURATION for a revision that is no commit, a repository that may not be read or a lock
    that is not the image's, DATA for a commit that is not there, TEMPORARY when the repository does not answer.
    """
    started = time.monotonic()
    _require_commit(inputs.revision)
    _empty(inputs.project)
    repository = Repository(inputs.project, inputs.repository, inputs.credentials)
    repository.fetch(inputs.revision)
    lock.require_agreement(repository.read(inputs.revision, lock.NAME), inputs.lock, inputs.revision)
    repository.check_out(inputs.revision)
    if paths := repository.left_out():
        sys.stderr.write(f"submodules and files of Git LFS are not fetched: {', '.join(paths)}\n")
    return CodeOutput(
        summary=f"{inputs.repository} at {inputs.revision[:12]}",
        seconds=time.monotonic() - started,
        commit=inputs.revision,
    )


def _require_commit(revision: str) -> None:
    """A branch may move between two pods of a run; a commit cannot."""
    if not revision or revision.endswith(DIRTY):
        what = f"revision {revision}: has changes that are in no commit" if revision else "revision: is empty"
        raise configuration_error(f"{what}, and the code is fetched by its commit; commit, push, and give that commit")
    if not COMMIT.fullmatch(revision):
        raise configuration_error(
            f"revision {revision}: is no whole hash of a commit; give what `git rev-parse {revision}` prints"
        )


def _empty(project: Path) -> None:
    """The folder holds nothing but the mark that it is ours."""
    mark = project / ".git" / OURS
    if not mark.exists() and any(path.is_symlink() or not path.is_dir() for path in project.rglob("*")):
        raise configuration_error(f"{project}: holds files that this step has not put there; give an empty folder")
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    for leftover in (*project.iterdir(), *mark.parent.iterdir()):
        if leftover in (mark, mark.parent):
            continue
        if leftover.is_dir() and not leftover.is_symlink():
            files.remove_folder(leftover)
        else:
            os.unlink(leftover)  # noqa: PTH108 - a link is removed and never followed
