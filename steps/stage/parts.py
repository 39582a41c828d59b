"""An object too large for one request: its parts come in parallel, and are hashed and written in their order."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from argosy.steps.cache.blobs import Blobs
from argosy.steps.stage.failures import Wrong
from argosy.steps.stage.growing import Growing
from argosy.steps.stage.pace import MIB, Pace
from argosy.steps.stage.store import Store

PART_BYTES = 4 * MIB
"""A multiple of what a disk writes at a time, and large enough to be worth a request."""
SECONDS_BETWEEN_TRIES = 0.2


class Parts:
    """Fetches large objects, one after another or several at a time."""

    def __init__(self, blobs: Blobs, pace: Pace, workers: Executor, received: Callable[[int], None]) -> None:
        """`received` is told how many bytes have come."""
        self._blobs = blobs
        self._pace = pace
        self._workers = workers
        self._received = received
        self._told: set[str] = set()
        self._is_broken = False
        """Whether the disk has failed or is full: no beginnings are then left on it."""

    async def fetch(self, store: Store, md5: str, first: memoryview) -> str:
        """Brings the object, whose first bytes are there already, among the blobs. Returns its xxh3_128.

        Another stage may have brought it while this one waited for it: its xxh3 is then "". Raises StoreFailure.
        """
        size = await self._pace.asked(lambda: store.size(md5))
        async with self._only_writer(md5) as path:
            if self._blobs.has(md5):
                return ""
            with Growing(path) as file:
                await self._grow(file, store, md5, first, size)
                if file.md5 != md5:
                    file.empty()
                    raise Wrong(f"has md5 {file.md5} and {size:,} bytes")
                self._blobs.adopt(md5, path)
                return file.xxh3

    @asynccontextmanager
    async def _only_writer(self, md5: str) -> AsyncIterator[Path]:
        """The file to write the object to, once no other pod does. It asks again and again, so that SIGTERM ends it."""
        while True:
            with self._blobs.partial(md5) as path:
                if path:
                    try:
                        yield path
                    except OSError:
                        self._is_broken = True
                        raise
                    finally:
                        if self._is_broken:
                            path.unlink(missing_ok=True)
                    return
            self._tell(md5)
            await asyncio.sleep(SECONDS_BETWEEN_TRIES)

    def _tell(self, md5: str) -> None:
        if md5 not in self._told:
            self._told.add(md5)
            sys.stderr.write(f"waits for another pod, which fetches {md5}\n")

    async def _grow(self, file: Growing, store: Store, md5: str, first: memoryview, size: int) -> None:
        run = asyncio.get_running_loop().run_in_executor
        await run(self._workers, file.resume, size)
        if not file.bytes:
            await run(self._workers, file.append, first)
        before: asyncio.Task[None] | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for start, end in _ranges(file.bytes, size):
                    await self._pace.memory.take(end - start)
                    ask = partial(store.read, md5, start, end)
                    before = group.create_task(self._part(file, ask, end - start, before))
                    before.add_done_callback(partial(self._free, end - start))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _part(
        self, file: Growing, ask: Callable[[], Awaitable[memoryview]], count: int, before: asyncio.Task[None] | None
    ) -> None:
        content = await self._pace.asked(ask, count)
        if len(content) < count:
            raise Wrong(f"ends {count - len(content):,} bytes too early")
        self._received(count)
        if before:
            await before
        await asyncio.get_running_loop().run_in_executor(self._workers, file.append, content)

    def _free(self, count: int, _: asyncio.Task[None]) -> None:
        self._pace.memory.give_back(count)


def _ranges(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Parts that end where the disk's blocks do, from wherever the first begins."""
    while start < end:
        after = min(end, (start // PART_BYTES + 1) * PART_BYTES)
        yield start, after
        start = after
