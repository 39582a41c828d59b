"""Work that is done before its result is asked for."""

import threading
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")

DEPTH = 2
"""Items that are ready, or on their way, before they are asked for; of batches each worker process holds one more."""


class Ahead(Generic[Item]):
    """Takes items in a thread, before they are asked for. Whatever taking one raises is raised in its place."""

    def __init__(self, items: Iterable[Item], interrupt: Callable[[], None] = lambda: None) -> None:
        """`interrupt` makes the items end soon, from another thread."""
        self._items, self._interrupt = items, interrupt
        self._room = threading.Semaphore(DEPTH)
        self._taken: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()
        self._ended = False
        self._thread = threading.Thread(target=self._take, name="argosy-loader", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        if self._ended:
            raise StopIteration
        taken = self._taken.get()
        if isinstance(taken, tuple):
            self._room.release()
            return taken[0]
        self._ended = True
        raise StopIteration if taken is None else taken

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """No more is taken. The item that is being taken is waited for."""
        self._ended = True
        self._interrupt()
        self._room.release()
        self._thread.join()

    def _take(self) -> None:
        try:
            for item in self._items:
                self._room.acquire()
                if self._ended:
                    return
                self._taken.put((item,))
        except BaseException as error:  # noqa: BLE001 - it is raised where the item is asked for
            self._taken.put(error)
        else:
            self._taken.put(None)
