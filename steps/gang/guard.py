"""A process group that ends when the process that made it does, however that ended. Linux and macOS alike."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_WATCH = "import os, sys; sys.stdin.read(); os.killpg(0, 9)"
"""The end of what it reads means that the parent closed it, or is gone."""


@contextmanager
def guarded() -> Iterator[int]:
    """The group's number, for `Popen(process_group=...)`. When the block ends, whoever is left in it is killed."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", _WATCH], stdin=subprocess.PIPE, process_group=0) as watch:
        yield watch.pid
