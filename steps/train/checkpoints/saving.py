"""One checkpoint on its way from host memory to the store, in a thread beside the training."""

import hashlib
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Thread

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints.manifest import BLOCK, Manifest, Part, Span
from argosy.steps.train.checkpoints.plan import Plan
from argosy.steps.train.checkpoints.ranks import Ranks
from argosy.steps.train.checkpoints.shelf import Kept, Shelf
from argosy.steps.train.checkpoints.store import Store


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
    failure: tuple[ExitCode, str] | None = None


@dataclass(frozen=True)
class Venue:
    """Where checkpoints go, and who takes part."""

    store: Store
    ranks: Ranks
    shelf: Shelf
    fence: Callable[[], None]


class Save:
    def __init__(self, about: Saved, plan: Plan, content: memoryview, venue: Venue) -> None:
        self.about = about
        self._plan, self._content = plan, content
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
            failure = self._ranks.agreed(self._failure(reports) if self._ranks.is_first else None)
            if failure:
                raise StepError(*failure)  # noqa: TRY301 - it is the same on every rank
        except BaseException as error:  # noqa: BLE001 - whoever waits for this raises it
            self._seconds.set_exception(error)
        else:
            self._seconds.set_result(time.monotonic() - self.about.began)

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
            self._store.write(self.about.name, self._ranks.rank, self._content)
            return Part(bytes=len(self._content), sha256=hashes.result())

    def _failure(self, reports: list[Report]) -> tuple[ExitCode, str] | None:
        """What the first rank makes of all that was written; none: the checkpoint counts."""
        try:
            for report in reports:
                if report.failure:
                    raise StepError(*report.failure)  # noqa: TRY301 - what a rank could not do ends the same way
            manifest = self._manifest(reports)
            self._fence()
            self._store.commit(self.about.name, manifest)
            self._shelf.add(Kept(self.about.name, manifest))
        except StepError as error:
            self._discard()
            return error.exit_code, error.message
        return None

    def _discard(self) -> None:
        """Whatever there is of it takes room that the next attempt may need."""
        try:
            self._store.remove(self.about.name)
        except StepError:
            return  # the next attempt sweeps it away

    def _manifest(self, reports: list[Report]) -> Manifest:
        metric = self.about.metric
        return Manifest(
            step=self.about.step,
            dataset_hash=self.about.dataset_hash,
            ranks=self._ranks.size,
            metric=metric if metric is not None and math.isfinite(metric) else None,
            tensors=dict(self._plan.tensors),
            frames=tuple(report.frame for report in reports if report.frame),
            parts={rank: report.part for rank, report in enumerate(reports) if report.part},
        )


def _hashes(content: memoryview) -> tuple[str, ...]:
    blocks = range(0, len(content), BLOCK)
    return tuple(hashlib.sha256(content[start : start + BLOCK]).hexdigest() for start in blocks)
