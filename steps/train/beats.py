"""How far each rank is: memory that a rank writes to and its supervisor reads, a file of the attempt.

A beat costs a few stores to memory, no system call. Times are of the machine's monotonic clock, which its processes
share.
"""

import itertools
import mmap
import os
import statistics
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PID, MAIN_THREAD, COUNT, STEP, RESTING = range(5)
"""Places of whole numbers; then comes the time of the last sign, then those of the last steps, then a phase's name."""
SIGN, TIMES = 5, 6
KEPT = 64
NAME = 8 * (TIMES + KEPT)
NAME_BYTES = 56
SIZE = NAME + NAME_BYTES
ENDED = "end"
"""Phase of a rank that has ended, and not failed."""


class Beat:
    """A rank's end."""

    def __init__(self, path: Path) -> None:
        # Written and not only made long: a page without a block behind it is a SIGBUS on a full disk.
        path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)
        view = memoryview(self._memory)
        self._whole, self._times, self._name = view[:NAME].cast("q"), view[:NAME].cast("d"), view[NAME:]
        self._count = 0
        self._whole[MAIN_THREAD] = threading.main_thread().ident or 0
        self._times[SIGN] = time.monotonic()
        self._whole[PID] = os.getpid()

    def at(self, step: int) -> None:
        """So many optimiser steps of the training are done."""
        now = time.monotonic()
        self._times[TIMES + self._count % KEPT] = now
        self._times[SIGN] = now
        self._count += 1
        self._whole[STEP] = step
        self._whole[RESTING] = 0
        self._whole[COUNT] = self._count

    def rest(self, name: str) -> None:
        """No step is made for a while, for what this names, as in `evaluate`, `save`: until `work`, or `at`."""
        text = name.encode()[:NAME_BYTES]
        self._name[:] = text.ljust(NAME_BYTES, b"\0")
        self._times[SIGN] = time.monotonic()
        self._whole[RESTING] = 1

    def work(self) -> None:
        """The next step is being made."""
        self._times[SIGN] = time.monotonic()
        self._whole[RESTING] = 0


@dataclass(frozen=True)
class Pulse:
    """What a rank's beat says at one moment."""

    rank: int
    pid: int
    main_thread: int
    step: int | None
    """Steps of the training that are done; None: none in this attempt."""
    rest: str
    """The phase in which no steps are made; empty: steps are."""
    sign: float
    """When the rank last gave a sign."""
    median: float
    """Of its last steps' seconds; 0: it made none."""


def pulse(path: Path, rank: int) -> Pulse | None:
    """None: the rank has not begun."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < SIZE:
        return None
    whole, times = memoryview(data)[:NAME].cast("q"), memoryview(data)[:NAME].cast("d")
    if not whole[PID]:
        return None
    count = whole[COUNT]
    marks = sorted(times[TIMES : TIMES + min(count, KEPT)])
    steps = [after - before for before, after in itertools.pairwise(marks)]
    return Pulse(
        rank=rank,
        pid=whole[PID],
        main_thread=whole[MAIN_THREAD],
        step=whole[STEP] if count else None,
        rest=data[NAME:].rstrip(b"\0").decode(errors="replace") if whole[RESTING] else "",
        sign=times[SIGN],
        median=statistics.median(steps) if steps else 0.0,
    )
