"""Files that are there whole or not at all."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARTIAL = ".partial-"
"""How the name of everything half made begins."""


def write_text(path: Path, text: str) -> None:
    """The file holds this text, whole, even when the machine stops now."""
    temporary = partial(path.parent)
    try:
        with temporary.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # what a full disk refuses to write names no file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    sync_folder(path.parent)


def partial(parent: Path) -> Path:
    """A new name for something half made in this folder. Two pods on a node can both be process 1: no process id."""
    return parent / f"{PARTIAL}{uuid.uuid4().hex}"


def sweep(folder: Path) -> None:
    """Removes what a killed owner of this folder left half made."""
    for leftover in folder.glob(f"{PARTIAL}*"):
        if leftover.is_dir():
            remove_folder(leftover)
        else:
            leftover.unlink()


def sync_folder(folder: Path) -> None:
    """The names in this folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """The bytes of this file are on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill. It stands in the target's place when the block ends, and is gone when the block fails."""
    temporary = partial(target.parent)
    temporary.mkdir()
    try:
        yield temporary
    except BaseException:
        remove_folder(temporary)
        raise
    stale = partial(target.parent)
    if target.exists():
        target.rename(stale)
    temporary.rename(target)
    sync_folder(target.parent)
    if stale.exists():
        remove_folder(stale)


def remove_folder(folder: Path) -> None:
    """Removes a folder whose sub-folders may be read-only."""
    for parent, _, _ in os.walk(folder):
        Path(parent).chmod(0o700)
    shutil.rmtree(folder)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
