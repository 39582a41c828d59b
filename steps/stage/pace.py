"""How much is asked of a store at a time, how fast, and how often when it does not answer."""

import asyncio
import random
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from argosy.steps.stage.failures import Busy, Passing

MIB = 1 << 20
BYTES_IN_FLIGHT = 128 * MIB
FIRST_SHARE = 0.25
"""Of the bytes in flight: for first answers, whose sizes nobody knows before."""

ATTEMPTS = 10
"""How often a store is asked that does not answer."""
TIMES = 4
"""How often an object is fetched whose bytes are other ones."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 15.0
COOLING_SECONDS = 0.5
"""Between two halvings: the requests that are already under way may still find the store busy."""
TOLD_AFTER = 3
"""Attempts before the log speaks of them."""
SECONDS_BETWEEN_WORDS = 10.0

Answer = TypeVar("Answer")


async def together(asked: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """What they all answer. The first failure ends the others, and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in asked]
    except BaseExceptionGroup as failures:  # a step that is terminated, too
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


class Permits:
    """A number of things to be had, given out first come, first served."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._taken = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, count: int = 1) -> None:
        if not self._waiting and self._fits(count):
            self._taken += count
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((count, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(count)
            raise

    def give_back(self, count: int = 1) -> None:
        self._taken -= count
        while self._waiting and (self._waiting[0][1].done() or self._fits(self._waiting[0][0])):
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._taken += wanted
                turn.set_result(None)

    def _fits(self, count: int) -> bool:
        return self._taken + count <= self.limit or not self._taken


class Pace:
    """The pace of one stage's requests: fewer while a store is busy, none faster than it may."""

    def __init__(
        self,
        connections: int = 32,
        bytes_per_second: int = 0,
        *,
        attempts: int = ATTEMPTS,
        bytes_in_flight: int = BYTES_IN_FLIGHT,
    ) -> None:
        """`bytes_per_second` 0: as fast as it goes."""
        self._attempts = attempts
        self.connections = connections
        self.first_bytes = min(MIB, int(bytes_in_flight * FIRST_SHARE / connections) // 4096 * 4096)
        """How many bytes of an object are asked for before its size is known."""
        self.memory = Permits(bytes_in_flight * (1 - FIRST_SHARE))
        """For the parts of objects."""
        self._requests = Permits(connections)
        self._bytes_per_second = bytes_per_second
        self._free_at = 0.0
        self._gate = Permits(1)
        self._typical = self.first_bytes
        """What the last first answer had, and the next one is expected to have."""
        self._cooled_at = 0.0
        self._told_at = float("-inf")

    async def first(self, ask: Callable[[], Awaitable[memoryview]]) -> memoryview:
        """The first bytes of an object, however many. Raises StoreFailure."""
        await self._requests.take()
        try:
            expected = await self._afford(None)
            content = await self._persistently(ask)
        finally:
            self._requests.give_back()
        self._free_at += self._seconds(len(content) - expected)
        self._typical = len(content)
        return content

    async def asked(self, ask: Callable[[], Awaitable[Answer]], expected_bytes: int = 0) -> Answer:
        """The store's answer, asked for again while asking again may help. Raises StoreFailure."""
        await self._requests.take()
        try:
            await self._afford(expected_bytes)
            return await self._persistently(ask)
        finally:
            self._requests.give_back()

    async def _persistently(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """It keeps its place among the requests while it waits: a store in trouble then has fewer of them."""
        now = asyncio.get_running_loop().time
        began = now()
        for attempt in range(1, self._attempts + 1):
            try:
                answer = await ask()
            except Passing as failure:
                if isinstance(failure, Busy):
                    self._slow_down(now())
                if attempt == self._attempts or now() > began + failure.patience_seconds:
                    raise
                self._tell(attempt, failure, now())
                await asyncio.sleep(_wait(attempt))
            else:
                self._speed_up()
                return answer
        raise AssertionError

    def _slow_down(self, now: float) -> None:
        if now >= self._cooled_at:
            self._requests.limit = max(1.0, self._requests.limit / 2)
            self._cooled_at = now + COOLING_SECONDS

    def _speed_up(self) -> None:
        if self._requests.limit < self.connections:
            self._requests.limit = min(self.connections, self._requests.limit + 1 / self._requests.limit)

    def _tell(self, attempt: int, failure: Passing, now: float) -> None:
        if attempt >= TOLD_AFTER and now >= self._told_at + SECONDS_BETWEEN_WORDS:
            self._told_at = now
            sys.stderr.write(f"the store does not answer: {failure}; asked {attempt} times, asking again\n")

    async def _afford(self, count: int | None) -> int:
        """Waits until so many bytes may come; none: as many as the last first answer had. Returns their number."""
        if not self._bytes_per_second:
            return 0
        now = asyncio.get_running_loop().time
        await self._gate.take()
        try:
            await asyncio.sleep(max(0.0, self._free_at - now()))
            expected = self._typical if count is None else count
            self._free_at = max(self._free_at, now()) + self._seconds(expected)
            return expected
        finally:
            self._gate.give_back()

    def _seconds(self, count: int) -> float:
        return count / self._bytes_per_second if self._bytes_per_second else 0.0


def _wait(attempt: int) -> float:
    """Seconds, with full jitter: those who failed together do not come back together."""
    return random.uniform(0, min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** (attempt - 1)))  # noqa: S311 - no secret
