"""Processes that make a rank's batches. They hold none of its locks, sockets or threads, and die with it."""

import atexit
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from types import ModuleType, TracebackType
from typing import Self

import torch

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.data import wire
from argosy.steps.train.data.batch import Batch
from argosy.steps.train.data.reading import Source

END_SECONDS = 10


class Workers:
    """Each of `count` processes makes every `count`th batch, and they come in order."""

    def __init__(self, source: Source, steps: range, count: int) -> None:
        """Raises StepError (CODE) for a source that cannot be sent to another process."""
        # A forked rank would leave its locks and its connections to other ranks in the hands of what outlives it.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._steps = steps
        resource_tracker.ensure_running()  # it would end the block of signals while the first worker starts
        with _undisturbed(), _without_main():
            _refuse_unsendable(source)
            self._workers = [_Worker(context, source, steps[number::count], number) for number in range(count)]
        # Python itself would ask them with SIGTERM at its exit, and wait.
        atexit.register(self.kill)

    def __iter__(self) -> Iterator[Batch]:
        """Raises what a worker raised, and StepError (TEMPORARY) when one has ended."""
        for number in range(len(self._steps)):
            yield self._workers[number % len(self._workers)].batch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        atexit.unregister(self.kill)

    def kill(self) -> None:
        for worker in self._workers:
            worker.kill()


class _Worker:
    def __init__(self, context: ForkServerContext, source: Source, steps: range, number: int) -> None:
        self._number = number
        self._received, sent = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(source, steps, sent), daemon=True)
        self._process.start()
        sent.close()

    def batch(self) -> Batch:
        try:
            return wire.received(self._received)
        except (EOFError, ConnectionError):
            raise self._ended() from None

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def _ended(self) -> StepError:
        self._process.join(END_SECONDS)
        code = self._process.exitcode
        how = f"was killed by {signal.Signals(-code).name}" if code and code < 0 else f"ended with exit code {code}"
        return StepError(
            ExitCode.TEMPORARY,
            f"loader worker {self._number} (process {self._process.pid}) {how}; if memory was short, use fewer workers",
        )


def _work(source: Source, steps: range, to_rank: Connection) -> None:
    """A worker's life."""
    with _undisturbed():
        threading.Thread(target=_die_with_rank, daemon=True).start()
        torch.set_num_threads(1)
        _make(source, steps, to_rank)


def _make(source: Source, steps: range, to_rank: Connection) -> None:
    try:
        for part in source.parts(steps):
            wire.send(to_rank, source.batch(part))
    except ConnectionError:
        os._exit(1)  # the rank is gone
    except Exception as error:  # noqa: BLE001 - the rank raises it
        wire.send_failure(to_rank, error)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Neither this thread nor a process it starts is stopped by a signal for the whole group of processes: a rank that
    is asked to stop goes on to its checkpoint, and needs its data.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_main() -> Iterator[None]:
    """A process that starts meanwhile does not run the training's own script anew, as multiprocessing would have it
    (multiprocessing/spawn.py, get_preparation_data): it would become a rank more. Workers need nothing of it.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _die_with_rank() -> None:
    rank = multiprocessing.parent_process()
    assert rank is not None
    wait([rank.sentinel])
    os._exit(1)


def _refuse_unsendable(source: Source) -> None:
    try:
        pickle.dumps(source)
    except Exception as error:  # noqa: BLE001 - pickle raises whatever an object's own methods do
        raise StepError(
            ExitCode.CODE,
            f"the task cannot be sent to loader workers: {type(error).__name__}: {error}; keep what cannot be pickled "
            "out of its attributes, or use no loader workers",
        ) from None
