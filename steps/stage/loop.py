"""An event loop that SIGTERM ends.

What a signal's handler raises while a callback of the loop runs is logged and forgotten (asyncio/events.py,
Handle._run), or becomes the failure of whichever task was running.
"""

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from argosy.steps.errors import Terminated

Result = TypeVar("Result")


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine to its end. Raises Terminated where SIGTERM does so outside of loops, too."""
    handler = signal.getsignal(signal.SIGTERM)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return asyncio.run(main)
    try:
        return asyncio.run(_until_terminated(main))
    finally:
        signal.signal(signal.SIGTERM, handler)


async def _until_terminated(main: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.ensure_future(main)
    terminated: list[bool] = []

    def terminate() -> None:
        terminated.append(True)
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await task
    except asyncio.CancelledError:
        if terminated:
            raise Terminated from None
        raise
