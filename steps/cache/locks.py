"""Locks that the kernel frees when their holder ends, however it ends.

flock(2) excludes across pods of a node, whose process ids mean nothing to each other; POSIX locks would be lost when
any descriptor of the file is closed. No file system need honour it: whoever uses a lock must be right without it.
"""

import fcntl
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from argosy.steps import files


def work(folder: Path) -> bool:
    """Whether a lock taken in this folder keeps another out. Some file systems give every lock, or none, or none on
    a file that is open for reading.
    """
    path = files.partial(folder)
    try:
        with attempt(path, create=True) as is_given, attempt(path) as is_given_again:
            return is_given and not is_given_again
    finally:
        path.unlink(missing_ok=True)


def is_taken(descriptor: int) -> bool:
    """Takes the lock on an open file if it is free. False: another has it, or the file system has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def take(descriptor: int) -> None:
    """Takes the lock on an open file, and waits for it; where the file system has none, there is none to take."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_same(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_held(path: Path) -> bool:
    """Whether someone holds the lock on this file."""
    with _open(path) as descriptor:
        return descriptor is not None and not is_taken(descriptor)


@contextmanager
def exclusive(path: Path, purpose: str) -> Iterator[None]:
    """Holds the lock of this name, whose file is there as long; says on stderr for whom and for what it waits."""
    descriptor = _taken(path, purpose)
    try:
        with suppress(OSError):  # a full disk: nobody is told who it was
            os.ftruncate(descriptor, 0)
            os.write(descriptor, platform.node().encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


@contextmanager
def shared(path: Path) -> Iterator[bool]:
    """Whether this file is there; if so its lock is held meanwhile, together with others."""
    with _open(path) as descriptor:
        if descriptor is not None:
            with suppress(OSError):  # where there are no locks, nobody takes this one
                fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield descriptor is not None and is_same(descriptor, path)


@contextmanager
def attempt(path: Path, *, create: bool = False) -> Iterator[bool]:
    """Whether the lock on this file is free and there; if so it is held meanwhile."""
    with _open(path, os.O_CREAT if create else 0) as descriptor:
        yield descriptor is not None and is_taken(descriptor) and is_same(descriptor, path)


def _taken(path: Path, purpose: str) -> int:
    while True:
        descriptor = _opened(path)
        try:
            if not is_taken(descriptor):
                holder = os.pread(descriptor, 255, 0).decode(errors="replace")
                sys.stderr.write(f"waits for {holder or 'another pod'}, which {purpose}\n")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        if is_same(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder has just removed it


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


@contextmanager
def _open(path: Path, flags: int = 0) -> Iterator[int | None]:
    """The file, open for reading, with which flock(2) is content; None where there is none."""
    descriptor = None
    with suppress(FileNotFoundError, NotADirectoryError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags, 0o666)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)
