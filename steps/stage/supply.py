"""What a pin's data is made of, and where each piece of it can be had."""

import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Self

from argosy.steps.cache.entry import Entry
from argosy.steps.cache.faults import Gone
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.contracts import CacheInput
from argosy.steps.errors import data_error
from argosy.steps.pins import Pin, PinnedSource
from argosy.steps.stage import listing, selection, store
from argosy.steps.stage.fetch import Wanted, fetch
from argosy.steps.stage.pace import Pace
from argosy.steps.stage.store import Store
from argosy.steps.stage.transfer import Transfer

BLOCK_BYTES = 4096
"""What a file may take beyond its bytes: its last block is seldom full."""


class Supply:
    """The files of the data, and the objects of remotes that they are."""

    def __init__(
        self, entries: Sequence[Entry], objects: dict[str, Wanted], pace: Pace, name: str, size: int | None
    ) -> None:
        self.entries = entries
        """Paths in the view."""
        self.xxh3: dict[str, str] = {}
        """md5 -> xxh3 of what was fetched."""
        self.fetched_bytes = 0
        self._objects, self._pace = objects, pace
        self._bytes = size
        """Of all files; none: nobody knows."""
        self._name = name

    @classmethod
    def of(cls, pin: Pin, part: str, inputs: CacheInput) -> Self:
        """Raises StepError: what opening a remote and reading its list of files raise."""
        entries: list[Entry] = []
        origins: dict[str, Store] = {}
        for source in pin.sources:
            remote = store.opened(source.remote, inputs.project)
            whole = listing.entries(remote, source)
            listing.refuse_collisions(source, whole, inputs.cache)
            for warning in listing.warnings(source, whole):
                sys.stderr.write(f"{warning}\n")
            chosen = selection.selected(source, whole)
            inside = f"{source.folder}/" if len(pin.sources) > 1 else ""
            entries += [Entry(inside + entry.path, entry.md5) for entry in chosen] if inside else chosen
            origins |= dict.fromkeys((entry.md5 for entry in chosen), remote)
        own = selection.divided(entries, part)
        objects = {entry.md5: Wanted(entry.md5, entry.path, origins[entry.md5]) for entry in own}
        pace = Pace(inputs.connections, inputs.bytes_per_second)
        return cls(own, objects, pace, pin.dataset, None if part else _size(pin.sources))

    @property
    def md5s(self) -> Iterable[str]:
        return self._objects

    def files_beside(self, missing: Collection[str]) -> int:
        """How many files are there when these objects are not."""
        return sum(entry.md5 not in missing for entry in self.entries)

    def bring(self, cache: NodeCache, md5s: Sequence[str]) -> None:
        """Raises StepError: what `NodeCache.make_room` and `fetch` raise."""
        if not md5s:
            return
        wanted = [self._objects[md5] for md5 in md5s]
        size = self._expected(cache, set(md5s))
        cache.make_room((size or 0) + len(wanted) * BLOCK_BYTES, len(wanted), keep=self._objects)
        fetched = fetch(wanted, cache.blobs, self._pace, Transfer(len(wanted), size).report)
        self.fetched_bytes += fetched.bytes
        self.xxh3 |= fetched.xxh3

    def require_complete(self, cache: NodeCache) -> None:
        """All files together have the bytes that DVC's files say. Raises StepError (DATA), Gone."""
        if self._bytes is None:
            return
        try:
            sizes = {md5: cache.blobs.size(md5) for md5 in self._objects}
        except FileNotFoundError:
            raise Gone(cache.blobs.missing(self._objects)) from None
        size = sum(sizes[entry.md5] for entry in self.entries)
        if size != self._bytes:
            raise data_error(
                f"{self._name}: has {size} bytes and not {self._bytes} as DVC's file says; run `dvc commit`"
            )

    def _expected(self, cache: NodeCache, md5s: Collection[str]) -> int | None:
        """Bytes of the objects that are to be fetched; none: nobody knows, or an eviction has just taken another."""
        if self._bytes is None:
            return None
        with suppress(FileNotFoundError):
            there = sum(cache.blobs.size(entry.md5) for entry in self.entries if entry.md5 not in md5s)
            return max(0, self._bytes - there)
        return None


def _size(sources: Sequence[PinnedSource]) -> int | None:
    """Bytes of whole datasets; none: some is not whole, or DVC does not say."""
    sizes = [None if source.only else source.bytes for source in sources]
    return None if None in sizes else sum(size for size in sizes if size is not None)
