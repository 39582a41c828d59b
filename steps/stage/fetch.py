"""Brings objects out of stores into the node's cache. Nothing becomes a blob that has not the md5 it is named by."""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import xxhash

from argosy.steps.cache.blobs import Blobs
from argosy.steps.cache.rights import FULL
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.stage import complaints, loop
from argosy.steps.stage.complaints import Lack
from argosy.steps.stage.failures import Denied, ObjectFailure, StoreFailure, Wrong
from argosy.steps.stage.pace import TIMES, Pace, together
from argosy.steps.stage.parts import Parts
from argosy.steps.stage.store import Store

EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()
INLINE_BYTES = 128 << 10
"""Up to here it costs more to hand an object to a thread than to hash and write it."""
LARGE_AT_ONCE = 8
"""Each is hashed by one thread, at 600 MB/s: together as fast as a network of 40 Gbit/s."""

Report = Callable[[int, int], None]
"""Is told how many files and bytes have come."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object, and a file that it is for."""

    md5: str
    path: str
    store: Store


@dataclass(slots=True)
class Fetched:
    """What was fetched."""

    bytes: int = 0
    xxh3: dict[str, str] = field(default_factory=dict)
    """md5 -> xxh3_128."""


def fetch(wanted: Sequence[Wanted], blobs: Blobs, pace: Pace, report: Report) -> Fetched:
    """Brings every object among the blobs, each once.

    Raises StepError once all that can be had is there: DATA with everything that is missing or damaged; and at once,
    CONFIGURATION when a store may not be read or the disk is full, TEMPORARY when a store does not answer.
    """
    unique = {one.md5: one for one in wanted}
    try:
        return loop.run(_Fetching(blobs, pace, report).everything(unique.values()))
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise configuration_error(f"{blobs.path(EMPTY).parents[2]}: the disk is full; make room there") from None


class _Fetching:
    """One fetch: as many workers as there may be requests, each with one object at a time."""

    def __init__(self, blobs: Blobs, pace: Pace, report: Report) -> None:
        self._blobs = blobs
        self._pace = pace
        self._report = report
        self._fetched = Fetched()
        self._lacks: list[Lack] = []
        self._files = 0
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._threads = ThreadPoolExecutor(LARGE_AT_ONCE, "hash")
        self._parts = Parts(blobs, pace, self._threads, self._received)

    async def everything(self, wanted: Collection[Wanted]) -> Fetched:
        queue = iter(wanted)
        await together(self._work(queue) for _ in range(min(self._pace.connections, len(wanted))))
        if self._lacks:
            raise self._complaint(len(wanted))
        return self._fetched

    def _complaint(self, wanted: int) -> StepError:
        self._lacks.sort(key=lambda one: one.path)  # however they came
        first = self._lacks[0]
        if len(self._lacks) == wanted and all(isinstance(one.failure, Denied) for one in self._lacks):
            return complaints.of_store(first.store, first.failure)
        return complaints.of_objects(self._lacks)

    async def _work(self, queue: Iterator[Wanted]) -> None:
        for one in queue:
            try:
                await self._insistently(one)
            except ObjectFailure as failure:
                self._lacks.append(Lack(one.path, one.md5, one.store, failure))
            except StoreFailure as failure:
                raise complaints.of_store(one.store, failure) from None

    async def _insistently(self, one: Wanted) -> None:
        for attempt in range(1, TIMES + 1):
            try:
                await self._fetch(one)
            except Wrong:
                if attempt == TIMES:
                    raise
            else:
                return

    async def _fetch(self, one: Wanted) -> None:
        if one.md5 == EMPTY:
            content = memoryview(b"")
        else:
            content = await self._pace.first(lambda: one.store.read(one.md5, 0, self._pace.first_bytes))
        self._fetched.bytes += len(content)
        if len(content) < self._pace.first_bytes:
            xxh3 = await self._small(one.md5, content)
        else:
            async with self._large:
                xxh3 = await self._parts.fetch(one.store, one.md5, content)
        if xxh3:
            self._fetched.xxh3[one.md5] = xxh3
        self._files += 1
        self._report(self._files, self._fetched.bytes)

    async def _small(self, md5: str, content: memoryview) -> str:
        if len(content) <= INLINE_BYTES:
            return _kept(self._blobs, md5, content)
        return await asyncio.get_running_loop().run_in_executor(self._threads, _kept, self._blobs, md5, content)

    def _received(self, count: int) -> None:
        self._fetched.bytes += count
        self._report(self._files, self._fetched.bytes)


def _kept(blobs: Blobs, md5: str, content: memoryview) -> str:
    """Its xxh3_128. Raises Wrong for content that the md5 is not of."""
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != md5:
        raise Wrong(f"has md5 {found} and {len(content):,} bytes")
    blobs.add(md5, content)
    return xxhash.xxh3_128_hexdigest(content)
