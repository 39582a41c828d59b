"""Where everything lies in a node's cache.

    CACHE/format             which layout this is
    CACHE/boot               the machine's boot during which it was written last
    CACHE/blobs/ab/...       files by the md5 of their content, read-only
    CACHE/datasets/KEY/      a view: what a run reads; see view.py
    CACHE/partial/           everything half made
    CACHE/locks/             files to lock
    CACHE/trash/             what is being removed

A blob or a view appears by one rename: what has its name is whole, and was verified.
"""

from pathlib import Path

from argosy.steps import files
from argosy.steps.errors import configuration_error

FORMAT = "argosy cache 2\n"


class Layout:
    """The folders and files of a cache."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.format = root / "format"
        self.boot = root / "boot"
        self.blobs = root / "blobs"
        self.datasets = root / "datasets"
        self.partial = root / "partial"
        self.locks = root / "locks"
        self.trash = root / "trash"

    @property
    def folders(self) -> tuple[Path, ...]:
        return self.datasets, self.blobs, self.partial, self.locks, self.trash

    def staging_lock(self, key: str) -> Path:
        return self.locks / f"stage-{key}"

    def staging_locks(self) -> list[Path]:
        return list(self.locks.glob("stage-*"))

    def require_known(self) -> None:
        """Raises StepError (CONFIGURATION) when another version of argosy has laid this cache out."""
        try:
            found = self.format.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return
        if found != FORMAT:
            raise configuration_error(
                f"{self.format}: says {found.strip()[:40]!r} and not {FORMAT.strip()!r}: another version of argosy "
                "made this cache; name another folder for it, or remove this one"
            )

    def claim(self) -> None:
        """The folder is a cache from now on. Raises StepError (CONFIGURATION) when it holds files of others."""
        if self.format.exists():
            return
        paths = [path for folder in self.folders for path in folder.iterdir()]
        others = [path for path in paths if not path.name.startswith(files.PARTIAL)]
        if others and not self.format.exists():  # another pod may have claimed it meanwhile
            raise configuration_error(
                f"{others[0]}: is of no cache of this version of argosy, though its folder is meant to be one; "
                "name another folder for the cache, or remove that"
            )
        files.write_text(self.format, FORMAT)
