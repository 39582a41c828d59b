"""What was written is on the disk."""

import ctypes
import os
from pathlib import Path


def sync(folder: Path) -> None:
    """All that was written to the file system of this folder; once for many files, for each costs a thousandfold."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "syncfs"):  # Linux alone has it
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if libc.syncfs(descriptor):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    finally:
        os.close(descriptor)
