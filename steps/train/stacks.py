"""Where a rank's threads are: it writes that to a file when it gets a signal, even while native code holds it up."""

import faulthandler
import os
import re
import signal
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from argosy.steps import pod

SIGNAL = signal.SIGUSR2
ANSWER_SECONDS = 3.0
"""Time in which a rank that is not itself stopped writes its stack."""
FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$')
WAITS_FOR_OTHERS = re.compile(r"[/\\]torch[/\\](distributed|nn[/\\]parallel)[/\\]")

_open: list[object] = []


def answer(path: Path) -> None:
    """From now on this process writes its threads' stacks to this file whenever it gets the signal."""
    file = path.open("w", encoding="utf-8")
    _open.append(file)  # faulthandler keeps the descriptor's number, and not the file
    faulthandler.register(SIGNAL, file=file, all_threads=True, chain=False)


def asked(folder: Path, pids: Mapping[int, int]) -> dict[int, str]:
    """The stacks of these ranks (rank -> process id), as far as they answer."""
    for pid in pids.values():
        with suppress(ProcessLookupError):
            os.kill(pid, SIGNAL)
    texts = dict.fromkeys(pids, "")
    until = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < until:
        time.sleep(0.1)  # a file that another process writes to in pieces: it is whole when it grows no more
        before, texts = texts, {rank: (folder / f"stack-{rank}").read_text(errors="replace") for rank in pids}
        if texts == before and all(texts.values()):
            break
    return {rank: text for rank, text in texts.items() if text}


def frames(text: str, thread: int) -> list[traceback.FrameSummary]:
    """The frames of one thread, innermost last, as in a traceback."""
    found: list[traceback.FrameSummary] = []
    inside = False
    for line in text.splitlines():
        if "(most recent call first)" in line:
            inside = f"0x{thread:016x}" in line.lower()
        elif inside and (frame := FRAME.match(line)):
            found.append(traceback.FrameSummary(frame["file"], int(frame["line"]), frame["name"], lookup_line=False))
    return found[::-1]


def waits_for_others(stack: Sequence[traceback.FrameSummary]) -> bool:
    """Whether a rank is inside a collective operation, and so not itself what holds the others up."""
    innermost = stack[-1:]
    return any(WAITS_FOR_OTHERS.search(one.filename) or one.name == "_engine_run_backward" for one in innermost)


def place(stack: Sequence[traceback.FrameSummary]) -> str:
    """`model.py:40 forward()`: the innermost line of the user's code; empty: there is none."""
    frame = pod.innermost(stack)
    return f"{frame.filename}:{frame.lineno} {frame.name}()" if frame else ""
