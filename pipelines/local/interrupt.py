"""Why work must end before it is done: the run's own end, told to every node; and one node's."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def after(seconds: float | None, end: "Stop | Interrupt", reason: str) -> Iterator[None]:
    """Set a stop or an interrupt when so much time has passed within the block; None: never."""
    timer = asyncio.get_running_loop().call_later(seconds, end.set, reason) if seconds is not None else None
    try:
        yield
    finally:
        if timer:
            timer.cancel()


class Stop:
    """Why one node must end early. Its pod watches the event; the first reason stays."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.reason = ""

    def set(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.event.set()


class Interrupt:
    """Unset at first. Once set, running pods are stopped and no pod starts."""

    def __init__(self) -> None:
        self.message = ""
        """What the nodes that it ends say; empty while unset."""
        self.is_final = False
        """Whether exit handlers are left out as well."""
        self._is_lifted = False
        self._stops: set[Stop] = set()

    @property
    def is_set(self) -> bool:
        return self.is_final or (bool(self.message) and not self._is_lifted)

    def set(self, message: str, *, final: bool = False) -> None:
        """The first message stays, until a final one takes its place and holds for exit handlers too."""
        self.message = message if final or not self.message else self.message
        self.is_final = self.is_final or final
        if self.is_set:
            for stop in self._stops:
                stop.set(self.message)

    def lift(self) -> None:
        """Let exit handlers run."""
        self._is_lifted = True

    @contextmanager
    def stop(self) -> Iterator[Stop]:
        """A stop of one node, which this interrupt sets as well."""
        stop = Stop()
        self._stops.add(stop)
        if self.is_set:
            stop.set(self.message)
        try:
            yield stop
        finally:
            self._stops.discard(stop)
