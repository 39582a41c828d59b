"""Where a process makes what is not yet whole, under names that nobody else has."""

import itertools
import os
import threading
from contextlib import suppress
from pathlib import Path

from argosy.steps import files
from argosy.steps.cache import locks


class Workplace:
    """A folder of this process in CACHE/partial, locked while it lives: an unlocked one has lost its owner."""

    def __init__(self, partial: Path) -> None:
        self._partial = partial
        self._making = threading.Lock()
        self._number = itertools.count()
        self._folder: Path | None = None
        self._lock = -1

    def new(self) -> Path:
        """A new path for something half made."""
        return Path(self.name())

    def name(self) -> str:
        """The same as text, of which a dataset may need 100,000."""
        with self._making:
            if self._folder is None:
                self._folder, self._lock = self._made()
            return f"{self._folder}/{next(self._number)}"

    def close(self) -> None:
        """Removes what is still there."""
        with self._making:
            if self._folder is not None:
                with suppress(FileNotFoundError):
                    files.remove_folder(self._folder)
                os.close(self._lock)
                self._folder = None

    def _made(self) -> tuple[Path, int]:
        self._partial.mkdir(parents=True, exist_ok=True)
        while True:
            folder = files.partial(self._partial)
            folder.mkdir()
            with suppress(FileNotFoundError):
                lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                locks.take(lock)
                if locks.is_same(lock, folder):
                    return folder, lock
                os.close(lock)  # another stage has taken it for a leftover meanwhile
