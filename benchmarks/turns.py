"""Processes that take turns: what the machine does in these seconds, it does to all of them."""

import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

import psutil
from timing import LIMIT_SECONDS, BenchmarkError

TURN_SECONDS = 0.5


def run(commands: Sequence[tuple[Sequence[str], Mapping[str, str]]], folder: Path) -> None:
    """Each command, with its environment, in this folder; they start together, and one at a time goes on for a turn.

    Raises BenchmarkError when one fails, or takes too long.
    """
    with ExitStack() as stack:
        begun = time.monotonic()
        started = [stack.enter_context(_Turned(words, environment, folder)) for words, environment in commands]
        while left := [one for one in started if one.goes_on()]:
            for one in left:
                one.turn()
            if time.monotonic() - begun > LIMIT_SECONDS * len(commands):
                raise BenchmarkError(f"{left[0]}: does not end")


class _Turned:
    def __init__(self, words: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._words, self._environment, self._folder = words, environment, folder

    def __str__(self) -> str:
        return " ".join(self._words)

    def __enter__(self) -> Self:
        self._said = (self._folder / f"said-{id(self)}").open("w+")
        self._process = subprocess.Popen(
            self._words, cwd=self._folder, env=self._environment, stdout=self._said, stderr=self._said
        )
        self._signal(signal.SIGSTOP)
        return self

    def __exit__(self, *_: object) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._said.close()

    def goes_on(self) -> bool:
        """Raises BenchmarkError when it has failed."""
        code = self._process.poll()
        if code:
            self._said.seek(0)
            raise BenchmarkError(f"{self}: exit code {code}\n{self._said.read()[-2000:]}")
        return code is None

    def turn(self) -> None:
        self._signal(signal.SIGCONT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(TURN_SECONDS)
        self._signal(signal.SIGSTOP)

    def _signal(self, number: int) -> None:
        """To it and all that it has started."""
        if self._process.poll() is not None:
            return
        with suppress(psutil.NoSuchProcess):
            first = psutil.Process(self._process.pid)
            for one in [first, *first.children(recursive=True)]:  # whom a killed one leaves, is no child of it any more
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(number)
