"""Mutexes, semaphores and parallelism within one run.

A template takes all its locks at once or none, in the order in which templates asked (workflow/sync, argo v4).
A semaphore's limit stands in a ConfigMap of the cluster: on one machine it is 1, which is never less safe.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from argosy.pipelines.manifest import Lock, Synchronization

SEMAPHORE_LIMIT = 1


class Locks:
    """All locks of a run; first come, first served."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._held: set[str] = set()
        self._queue: deque[tuple[frozenset[str], asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def hold(self, wanted: Synchronization | None, on_wait: Callable[[str], None]) -> AsyncIterator[None]:
        """Hold a template's locks. `on_wait` is told what is waited for, in Argo's words, before a wait begins."""
        keys = frozenset(self._keys(wanted)) if wanted else frozenset()
        if keys:
            await self._acquire(keys, on_wait)
        try:
            yield
        finally:
            self._held -= keys
            self._wake()

    async def _acquire(self, keys: frozenset[str], on_wait: Callable[[str], None]) -> None:
        granted = asyncio.get_running_loop().create_future()
        entry = (keys, granted)
        self._queue.append(entry)
        self._wake()
        if granted.done():
            return
        taken = sorted(keys & self._held) or sorted(keys)
        on_wait(f"Waiting for {taken[0]} lock. Lock status: 0/{SEMAPHORE_LIMIT}")
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._held -= keys
            else:
                self._queue.remove(entry)
            self._wake()
            raise

    def _wake(self) -> None:
        """Grant every request whose locks are free and that no earlier request waits for."""
        claimed = set(self._held)
        for entry in list(self._queue):
            keys, granted = entry
            if claimed.isdisjoint(keys):
                self._queue.remove(entry)
                self._held |= keys
                granted.set_result(None)
            claimed |= keys

    def _keys(self, wanted: Synchronization) -> list[str]:
        mutexes = [f"{self._space(lock)}/Mutex/{lock.name}" for lock in wanted.mutexes]
        semaphores = [f"{self._space(lock)}/ConfigMap/{_reference(lock)}" for lock in wanted.semaphores]
        return mutexes + semaphores

    def _space(self, lock: Lock) -> str:
        return lock.namespace or self._namespace


def _reference(lock: Lock) -> str:
    reference = lock.config_map_key_ref or {}
    return f"{reference.get('name', '')}/{reference.get('key', '')}"
