"""A project's small files, as they are on disk or as they were at a git revision."""

import subprocess
from pathlib import Path

from argosy.steps.errors import configuration_error, data_error
from argosy.steps.git import git

IMAGE_REVISION = ".argosy-revision"
"""In an image's project, which is no git repository: the commit that its files are of (pipelines/images)."""

DIRTY = "-dirty"
"""How a revision ends that names no commit: uncommitted changes count, so the files on disk do."""


class Source:
    """Reads DVC's files of a project. The working tree is never touched."""

    def __init__(self, project: Path, revision: str) -> None:
        """Raises StepError: no such folder (CONFIGURATION), no such revision (DATA)."""
        if not project.is_dir():
            raise configuration_error(f"{project}: is no folder; give the project's folder as --project")
        self.project = project
        self.revision = revision
        self._commit = "" if self._counts_on_disk(revision) else self._resolved(revision)

    def read(self, path: str) -> str | None:
        """The text of a file, its path relative to the project; None where there is no such file."""
        try:
            if self._commit:
                shown = self._git("cat-file", "blob", f"{self._commit}:./{path}")
                return shown.stdout.decode() if shown.returncode == 0 else None
            file = self.project / path
            return file.read_text(encoding="utf-8") if file.is_file() else None
        except UnicodeDecodeError as error:
            raise data_error(f"{path}: is no UTF-8 text at byte {error.start}; write it anew with DVC") from None

    def names(self) -> list[str]:
        """Every DVC file of the project, relative to it."""
        listing = (
            ["ls-tree", "-r", "-z", "--name-only", self._commit]
            if self._commit
            else ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        )
        names = self._git(*listing).stdout.decode(errors="surrogateescape").split("\0")
        return [name for name in names if name.endswith(".dvc") or name.rpartition("/")[2] == "dvc.lock"]

    def _counts_on_disk(self, revision: str) -> bool:
        """Whether the revision is what the files on disk are. Raises StepError (CONFIGURATION) for another image's."""
        if not revision or revision.endswith(DIRTY):
            return True
        mark = self.project / IMAGE_REVISION
        if not mark.is_file():
            return False
        held = mark.read_text(encoding="utf-8").strip()
        if held != revision:
            what = f"revision {revision}: {self.project} is the image's, of revision {held}"
            raise configuration_error(f"{what}; type `argosy images build` at that revision, and name that image")
        return True

    def _resolved(self, revision: str) -> str:
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if found.returncode == 0:
            return found.stdout.decode().strip()
        if self._git("rev-parse", "--git-dir").returncode != 0:
            reason = self._git("rev-parse", "--git-dir").stderr.decode().strip().partition("\n")[0]
            raise configuration_error(f"{self.project}: git cannot read revision {revision}: {reason}")
        shallow = self._git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        hint = "the clone is shallow: fetch more of it" if shallow else "fetch it, or name one that is there"
        raise data_error(f"revision {revision}: {self.project} has no such commit; {hint}")

    def _git(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return git(self.project, *arguments)
