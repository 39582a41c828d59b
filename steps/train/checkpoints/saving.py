"""One checkpoint on its way from host memory to the store, in a thread beside the training."""

import hashlib
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints.manifest import BLOCK, Manifest, Part, Span
from argosy.steps.train.checkpoints.plan import Plan
from argosy.steps.train.checkpoints.ranks import Ranks
from argosy.steps.train.checkpoints.shelf import Kept, Shelf
from argosy.steps.train.checkpoints.store import Store

Failure = tuple[ExitCode, str]


@dataclass(frozen=True)
class Saved:
    """What is being saved."""

    name: str
    step: int
    dataset_hash: str
    metric: float | None
    began: float
    """By the monotonic clock."""


@dataclass(frozen=True)
class Report:
    """What a rank has written, or why it could not."""

    part: Part | None = None
    frame: Span | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class Venue:
    """Where checkpoints go, and who takes part."""

    store: Store
    ranks: Ranks
    shelf: Shelf
    fence: Callable[[], None]


class Save:
    def __init__(
        self, about: Saved, plan: Plan, content: memoryview, venue: Venue, counts: Callable[[int], None]
    ) -> None:
        """`counts` is called with its step, from its thread, as soon as it counts."""
        self._about, self._plan, self._content, self._counts = about, plan, content, counts
        self._store, self._ranks, self._shelf, self._fence = venue.store, venue.ranks, venue.shelf, venue.fence
        self._seconds: Future[float] = Future()

    def start(self) -> None:
        # A daemon: a rank that fails must not wait here for ranks that are gone.
        Thread(target=self._run, name="checkpoint", daemon=True).start()

    def seconds(self) -> float:
        """How long it took until it counted. Waits for that; raises what it failed with, the same on every rank."""
        return self._seconds.result()

    def _run(self) -> None:
        try:
            reports = self._ranks.gathered(self._report())
            self._by_first(lambda: self._commit(reports))
            self._counts(self._about.step)
            seconds = time.monotonic() - self._about.began
            self._by_first(self._shelf.tidy)
        except BaseException as error:  # noqa: BLE001 - whoever waits for this raises it
            self._seconds.set_exception(error)
        else:
            self._seconds.set_result(seconds)

    def _by_first(self, work: Callable[[], None]) -> None:
        """The first rank does it; where it cannot, every rank raises its StepError."""
        failure = self._ranks.agreed(_failure(work) if self._ranks.is_first else None)
        if failure:
            raise StepError(*failure)

    def _report(self) -> Report:
        if not self._content:
            return Report()
        try:
            part = self._written()
        except StepError as error:
            return Report(failure=(error.exit_code, error.message))
        rank, frame = self._ranks.rank, part.bytes - self._plan.bytes
        return Report(part, Span(part=rank, start=self._plan.bytes, bytes=frame) if frame else None)

    def _written(self) -> Part:
        """The hashes are taken beside the writing: each waits for something else, the processor and the store."""
        with ThreadPoolExecutor(1, "checkpoint-hashes") as pool:
            hashes = pool.submit(_hashes, self._content)
            self._store.write(self._about.name, self._ranks.rank, self._content)
            return Part(bytes=len(self._content), sha256=hashes.result())

    def _commit(self, reports: list[Report]) -> None:
        """Whatever has come of it otherwise takes room that the next attempt may need."""
        try:
            for report in reports:
                if report.failure:
                    raise StepError(*report.failure)  # noqa: TRY301 - what a rank could not do ends the same way
            manifest = self._manifest(reports)
            self._fence()
            self._store.commit(self._about.name, manifest)
        except StepError:
            with suppress(StepError):  # the next attempt sweeps it away
                self._store.remove(self._about.name)
            raise
        self._shelf.add(Kept(self._about.name, manifest))

    def _manifest(self, reports: list[Report]) -> Manifest:
        metric = self._about.metric
        return Manifest(
            step=self._about.step,
            dataset_hash=self._about.dataset_hash,
            ranks=self._ranks.size,
            metric=metric if metric is not None and math.isfinite(metric) else None,
            tensors=dict(self._plan.tensors),
            frames=tuple(report.frame for report in reports if report.frame),
            parts={rank: report.part for rank, report in enumerate(reports) if report.part},
        )


def _failure(work: Callable[[], None]) -> Failure | None:
    try:
        work()
    except StepError as error:
        return error.exit_code, error.message
    return None


def _hashes(content: memoryview) -> tuple[str, ...]:
    blocks = range(0, len(content), BLOCK)
    return tuple(hashlib.sha256(content[start : start + BLOCK]).hexdigest() for start in blocks)
