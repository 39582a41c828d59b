"""A user's project: the folder whose code and DVC files a pipeline uses."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARKS = (".dvc", ".git", "pyproject.toml")


def project_of(path: Path) -> Path:
    """The project that a file belongs to: the nearest folder above it with a `.dvc`, `.git` or pyproject.toml."""
    folders = path.resolve().parents
    return next((one for one in folders if any((one / mark).exists() for mark in MARKS)), folders[0])


@contextmanager
def importable(project: Path) -> Iterator[None]:
    """The project's modules can be imported, as they can in a pod, which runs in that folder."""
    sys.path.append(str(project))
    try:
        yield
    finally:
        sys.path.remove(str(project))
