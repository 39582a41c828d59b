"""Mutexes and semaphores within one run.

A template takes all its locks at once or none, in the order in which templates asked (workflow/sync, argo v4).
A semaphore's limit stands in a ConfigMap of the cluster: on one machine it is 1, which is never less safe.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from argosy.pipelines.local.interrupt import Stop
from argosy.pipelines.manifest import Lock, Synchronization

SEMAPHORE_LIMIT = 1


class LockError(ValueError):
    """Locks that can never be had."""


class Locks:
    """All locks of a run; first come, first served."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._held: set[str] = set()
        self._queue: deque[tuple[frozenset[str], asyncio.Future[None]]] = deque()

    def keys(self, wanted: Synchronization | None, held_above: frozenset[str]) -> frozenset[str]:
        """The names of a template's locks. Raises LockError for one that a template above holds: Argo would hang."""
        if wanted is None:
            return frozenset()
        mutexes = [f"{self._space(lock)}/Mutex/{lock.name}" for lock in wanted.mutexes]
        semaphores = [f"{self._space(lock)}/ConfigMap/{_reference(lock)}" for lock in wanted.semaphores]
        keys = frozenset(mutexes + semaphores)
        if own := keys & held_above:
            raise LockError(f"waits for {min(own)}, which a template that called it holds: it would wait for ever")
        return keys

    @asynccontextmanager
    async def hold(self, keys: frozenset[str], stop: Stop, on_wait: Callable[[str], None]) -> AsyncIterator[bool]:
        """Hold locks within the block; yields whether they were had before `stop` was set.

        `on_wait` is told what is waited for, in Argo's words, before a wait begins.
        """
        granted = await self._acquire(keys, stop, on_wait) if keys else True
        try:
            yield granted
        finally:
            if granted:
                self._held -= keys
                self._wake()

    async def _acquire(self, keys: frozenset[str], stop: Stop, on_wait: Callable[[str], None]) -> bool:
        granted = asyncio.get_running_loop().create_future()
        entry = (keys, granted)
        self._queue.append(entry)
        self._wake()
        if not granted.done():
            taken = sorted(keys & self._held) or sorted(keys)
            on_wait(f"Waiting for {taken[0]} lock. Lock status: 0/{SEMAPHORE_LIMIT}")
            stopped = asyncio.ensure_future(stop.event.wait())
            await asyncio.wait((granted, stopped), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
        if granted.done():
            return True
        self._queue.remove(entry)
        self._wake()
        return False

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

    def _space(self, lock: Lock) -> str:
        return lock.namespace or self._namespace


def _reference(lock: Lock) -> str:
    reference = lock.config_map_key_ref or {}
    return f"{reference.get('name', '')}/{reference.get('key', '')}"
