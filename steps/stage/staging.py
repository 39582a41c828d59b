"""A run's data into the node's cache: what the cache lacks is fetched, and then all of it appears at once.

Where the cache has it, nobody is asked for anything, and no library of stores is imported.
"""

import os
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argosy.steps import pins
from argosy.steps.cache.faults import Damaged, Fault, Gone, Unreadable
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.space import Limit
from argosy.steps.cache.version import Version
from argosy.steps.contracts import NODE, CacheInput, ExitCode, StageOutput
from argosy.steps.errors import StepError
from argosy.steps.pins import Pin

if TYPE_CHECKING:
    from argosy.steps.stage.supply import Supply

ROUNDS = 5
"""How often what an eviction takes in the meantime is fetched again."""


@dataclass(frozen=True)
class Staged:
    """A version that is in the cache now."""

    version: Version
    fetched_bytes: int
    hits: int
    """Files that the cache had."""


def stage(inputs: CacheInput, pin: Pin, part: str = "") -> StageOutput:
    """Lays out what is pinned, or a part of it.

    Raises StepError: DATA when anything is missing or damaged, CONFIGURATION when there is no space or right for it,
    TEMPORARY when the remote does not answer.
    """
    started = time.monotonic()
    limit = Limit(bytes=inputs.cache_bytes, files=inputs.cache_files)
    cache = NodeCache(inputs.cache, node_folder=inputs.node_folder, limit=limit)
    key = pins.key(pin.hash, part)
    staged = _found(cache, key) or _fetched(cache, key, inputs, pin, part)
    seconds = time.monotonic() - started
    return StageOutput(
        summary=_summary(staged, seconds),
        seconds=seconds,
        dataset_hash=pin.hash,
        dataset_pin=pin,
        files=staged.version.files,
        bytes=staged.version.bytes,
        fetched_bytes=staged.fetched_bytes,
        hits=staged.hits,
        node=os.environ.get(NODE) or platform.node(),
    )


def _found(cache: NodeCache, key: str) -> Staged | None:
    """What the cache has, if it has all of it, whole."""
    try:
        version = cache.found(key)
    except (Damaged, Unreadable):
        return None
    return Staged(version, 0, version.files) if version else None


def _fetched(cache: NodeCache, key: str, inputs: CacheInput, pin: Pin, part: str) -> Staged:
    with cache.staging(key):
        damaged: Sequence[Fault] = ()
        try:
            if version := cache.found(key):  # another pod has staged it meanwhile
                return Staged(version, 0, version.files)
        except Damaged as error:
            sys.stderr.write(f"{error.message}\n")
            damaged = error.faults
        except Unreadable as error:
            sys.stderr.write(f"{error.message}\n")
            cache.discard(key)
        # Only now: a pod that has to fetch nothing needs no library for it.
        from argosy.steps.stage.supply import Supply

        supply = Supply.of(pin, part, inputs)
        missing = cache.blobs.missing(supply.md5s)
        hits = supply.files_beside(set(missing))
        version = _repaired(cache, key, supply, damaged) if damaged else _published(cache, key, supply, missing, pin)
        return Staged(version, supply.fetched_bytes, hits)


def _published(cache: NodeCache, key: str, supply: "Supply", missing: Sequence[str], pin: Pin) -> Version:
    version = Version(dataset=pin.dataset, dataset_hash=pin.hash, revision=pin.revision)
    for _ in range(ROUNDS):
        supply.bring(cache, missing)
        with suppress(Gone):
            supply.require_complete(cache)
            return cache.publish(key, version, supply.entries, supply.xxh3)
        missing = cache.blobs.missing(supply.md5s)
    raise _crowded(key)


def _repaired(cache: NodeCache, key: str, supply: "Supply", damaged: Sequence[Fault]) -> Version:
    for _ in range(ROUNDS):
        supply.bring(cache, cache.lacking(damaged))
        with suppress(Gone):
            cache.repair(key, damaged)
            version = cache.found(key)
            assert version
            return version
    raise _crowded(key)


def _crowded(key: str) -> StepError:
    what = f"{key}: what was fetched of it has been evicted {ROUNDS} times for other data"
    return StepError(ExitCode.TEMPORARY, f"{what}; give the cache more room, or let fewer pods stage at a time")


def _summary(staged: Staged, seconds: float) -> str:
    version, megabytes = staged.version, staged.fetched_bytes / 1e6
    rate = megabytes / max(seconds, 1e-3)
    how = f"{megabytes:,.1f} MB fetched at {rate:,.1f} MB/s" if megabytes else "all of it in the cache already"
    return f"{version.files:,} file{'s' * (version.files != 1)}, {version.bytes / 1e6:,.1f} MB, {how}"
