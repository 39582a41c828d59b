"""Why a run must end before it is done, told to every pod that runs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Interrupt:
    """Unset at first. Once set, running pods are stopped and no pod starts."""

    def __init__(self) -> None:
        self.message = ""
        """What the nodes that it ends say; empty while unset."""
        self.is_final = False
        """Whether exit handlers are left out as well."""
        self._is_lifted = False
        self._event = asyncio.Event()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self, message: str, *, final: bool = False) -> None:
        """The first message stays; a final interrupt holds even for exit handlers."""
        self.message = self.message or message
        self.is_final = self.is_final or final
        if final or not self._is_lifted:
            self._event.set()

    def lift(self) -> None:
        """Let exit handlers run."""
        self._is_lifted = True
        self._event = asyncio.Event()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is set, at most so long; whether it is."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        return self.is_set

    @contextmanager
    def after(self, seconds: float | None, message: str) -> Iterator[None]:
        """Set it when so much time has passed within the block."""
        timer = asyncio.get_running_loop().call_later(seconds, self.set, message) if seconds is not None else None
        try:
            yield
        finally:
            if timer:
                timer.cancel()
