"""Signals that ask a training to stop: noted, and never an exception in the middle of something."""

import signal
import time
from types import FrameType
from typing import Self

from argosy.steps.errors import Terminated


class Stopping:
    """Within the block SIGTERM and Ctrl-C are noted; once one came, no later one cuts the saving short."""

    def __init__(self) -> None:
        self.signal = 0
        """The first that came; 0: none did."""
        self.at = 0.0
        """When, of the monotonic clock."""
        self._before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def __enter__(self) -> Self:
        for number in self._before:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.signal else handler)

    def stopped(self, words: str) -> BaseException:
        """What to raise: it says how the training was left."""
        return KeyboardInterrupt(words) if self.signal == signal.SIGINT else Terminated(words)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if not self.signal:
            self.signal, self.at = number, time.monotonic()
