"""Checkpoints in a bucket of S3. An object is whole or not there, and what has no manifest does not count.

PREFIX/RUN/step-00000120-3fa9c1d2/part-00000/00000000     a block of what rank 0 has written
PREFIX/RUN/step-00000120-3fa9c1d2/manifest.json           the last to come, the first to go
PREFIX/RUN/step-00000120-3fa9c1d2/damaged.json            in its place: the checkpoint is set aside
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.pins import Remote
from argosy.steps.stage import clients, failures, loop
from argosy.steps.stage.failures import Denied, Keyless, Missing, Passing, StoreFailure, Unauthorized, Wrong
from argosy.steps.stage.pace import TIMES, Pace, together
from argosy.steps.train.checkpoints.manifest import BLOCK, Manifest
from argosy.steps.train.checkpoints.store import Use

MANIFEST, DAMAGED_MANIFEST = "manifest.json", "damaged.json"
CONNECTIONS = 8
REMEDY = "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, of an account that may read and write it"

Answer = TypeVar("Answer")


class Bucket:
    def __init__(self, url: str, run: str) -> None:
        """`url` is s3://BUCKET/PREFIX. Raises StepError (CONFIGURATION) without credentials."""
        self._url = f"{url.rstrip('/')}/{run}"
        # No project's DVC configuration has keys for it: the device is no folder.
        self._client: Any = clients.client(Remote(name="", url=self._url), Path(os.devnull), "")

    def place(self, name: str) -> str:
        return f"{self._url}/{name}"

    def write(self, name: str, part: int, content: memoryview) -> None:
        async def put(ask: "Asking") -> None:
            starts = range(0, len(content), BLOCK)
            await together(
                ask.put(_block(name, part, start // BLOCK), content[start : start + BLOCK]) for start in starts
            )

        self._run(put, "written")

    def commit(self, name: str, manifest: Manifest) -> None:
        self._run(lambda ask: ask.put(f"{name}/{MANIFEST}", manifest.written()), "written")

    def names(self) -> list[str]:
        async def found(ask: "Asking") -> list[str]:
            names = await ask.folders()
            committed = await together(ask.has(f"{name}/{MANIFEST}") for name in names)
            return [name for name, counts in zip(names, committed, strict=True) if counts]

        return self._run(found, "listed")

    def manifest(self, name: str) -> bytes:
        return bytes(self._run(lambda ask: ask.get(f"{name}/{MANIFEST}"), "read"))

    def read(self, name: str, part: int, blocks: Sequence[int], use: Use) -> None:
        async def get(ask: "Asking") -> None:
            await together(ask.use(_block(name, part, block), block, use) for block in blocks)

        self._run(get, "read")

    def remove(self, name: str) -> None:
        async def delete(ask: "Asking") -> None:
            await ask.delete([f"{name}/{MANIFEST}"])
            await ask.delete(await ask.keys(name))

        self._run(delete, "removed")

    def set_aside(self, name: str) -> None:
        async def replace(ask: "Asking") -> None:
            await ask.put(f"{name}/{DAMAGED_MANIFEST}", await ask.get(f"{name}/{MANIFEST}"))
            await ask.delete([f"{name}/{MANIFEST}"])

        self._run(replace, "set aside")

    def sweep(self) -> None:
        counting = set(self.names())

        async def delete(ask: "Asking") -> None:
            orphans = [name for name in await ask.folders() if name not in counting]
            keys = await together(ask.keys(name) for name in orphans)
            await ask.delete([key for each in keys for key in each])

        self._run(delete, "removed")

    def _run(self, work: Callable[["Asking"], Coroutine[Any, Any, Answer]], done: str) -> Answer:
        try:
            return loop.run(work(Asking(self._client)))
        except (Missing, Wrong):
            raise
        except (Keyless, Unauthorized, Denied) as failure:
            raise configuration_error(f"{self._url}: may not be {done}: {failure}; {REMEDY}") from None
        except Passing as failure:
            raise StepError(ExitCode.TEMPORARY, f"{self._url}: does not answer: {failure}") from None
        except StoreFailure as failure:
            raise configuration_error(f"{self._url}: cannot be {done}: {failure}") from None


class Asking:
    """Requests to one bucket, some at a time, each asked again while that may help. They raise StoreFailure."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - whichever kind of store obstore made
        self._client = client
        self._pace = Pace(CONNECTIONS)

    async def put(self, key: str, content: bytes | memoryview) -> None:
        import obstore

        await self._ask(lambda: obstore.put_async(self._client, key, content, use_multipart=False))

    async def get(self, key: str) -> memoryview:
        import obstore

        async def whole() -> memoryview:
            return memoryview(await (await obstore.get_async(self._client, key)).bytes_async())

        try:
            return await self._ask(whole)
        except Missing:
            raise Missing(f"{key.partition('/')[2]} is not there") from None

    async def use(self, key: str, block: int, use: Use) -> None:
        """Gets a block, and does with it, in another thread, what is to be done. Bytes are lost on their way, too."""
        for _ in range(TIMES - 1):
            with suppress(Wrong):
                return await asyncio.to_thread(use, block, await self.get(key))
        return await asyncio.to_thread(use, block, await self.get(key))

    async def has(self, key: str) -> bool:
        import obstore

        try:
            await self._ask(lambda: obstore.head_async(self._client, key))
        except Missing:
            return False
        return True

    async def folders(self) -> list[str]:
        import obstore

        found = await self._ask(lambda: obstore.list_with_delimiter_async(self._client))
        return sorted(found["common_prefixes"])

    async def keys(self, folder: str) -> list[str]:
        import obstore

        async def listed() -> list[str]:
            return [one["path"] for one in await obstore.list(self._client, f"{folder}/").collect_async()]

        return await self._ask(listed)

    async def delete(self, keys: Sequence[str]) -> None:
        import obstore

        if keys:
            await self._ask(lambda: obstore.delete_async(self._client, keys))

    async def _ask(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        from obstore.exceptions import BaseError

        async def told() -> Answer:
            try:
                return await ask()
            except (BaseError, FileNotFoundError) as error:
                raise failures.of(error) from None

        return await self._pace.asked(told)


def _block(name: str, part: int, block: int) -> str:
    return f"{name}/part-{part:05d}/{block:08d}"
