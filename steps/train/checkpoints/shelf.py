"""Which checkpoints of a run count, and which of them stay."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from argosy.steps.stage.failures import ObjectFailure
from argosy.steps.train.checkpoints.manifest import Manifest
from argosy.steps.train.checkpoints.store import Store

AT_LEAST = 2
"""One may turn out to be damaged."""


@dataclass(frozen=True)
class Kept:
    name: str
    manifest: Manifest


class Shelf:
    """What the first rank knows of a store. No other process adds to it meanwhile."""

    def __init__(self, store: Store, kept: int) -> None:
        self._store = store
        self._kept = max(kept, AT_LEAST)

    @cached_property
    def _all(self) -> list[Kept]:
        """In order of their steps."""
        found = []
        for name in self._store.names():
            try:
                found.append(Kept(name, Manifest.read(self._store.manifest(name))))
            except ObjectFailure as failure:
                self._set_aside(name, failure)
        return sorted(found, key=lambda kept: kept.manifest.step)

    def newest(self) -> Kept | None:
        return self._all[-1] if self._all else None

    def best(self) -> Kept | None:
        """The one with the greatest metric, the newest of these; none: nobody measured."""
        return next(iter(_best(self._all)), None)

    def add(self, new: Kept) -> None:
        """It has been committed."""
        self._all[:] = [*(kept for kept in self._all if kept.name != new.name), new]

    def tidy(self) -> None:
        """What need not stay any more is removed. Raises StepError; what has been committed stays all the same."""
        of_steps = list({kept.manifest.step: kept for kept in self._all}.values())
        stays = {kept.name for kept in (*of_steps[-self._kept :], *_best(of_steps))}
        for kept in [kept for kept in self._all if kept.name not in stays]:
            self._store.remove(kept.name)
            self._all.remove(kept)

    def set_aside(self, damaged: Kept, why: str) -> None:
        self._all.remove(damaged)
        self._set_aside(damaged.name, why)

    def _set_aside(self, name: str, why: object) -> None:
        self._store.set_aside(name)
        sys.stderr.write(
            f"checkpoint {self._store.place(name)}: is damaged: {why}; it was set aside, and the one before it is "
            "taken\n"
        )


def _best(all_kept: Sequence[Kept]) -> list[Kept]:
    """The one with the greatest metric, the newest of these; none where nobody measured."""
    metrics = [kept.manifest.metric for kept in all_kept if kept.manifest.metric is not None]
    return [kept for kept in all_kept if metrics and kept.manifest.metric == max(metrics)][-1:]
