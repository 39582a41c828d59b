"""What all ranks agree on at every step, without a step that waits for it.

A rank casts its vote after a step; the sums of all are read after the next one, when they have long arrived. All ranks
read the same at the same step, and so stop, save and fail together. A loss on a GPU is read when the GPU has gone on to
the next step, and is voted with that.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, cast

import torch
from torch import Tensor, distributed

from argosy.steps.train.world import World


class Losses(NamedTuple):
    """What a rank knows of one step; all ranks together in a count."""

    step: int
    mean: float | None
    """None: no rank gave one."""
    samples: int


class Vote(NamedTuple):
    stop: bool
    save: bool
    seconds: float
    """That the step took; rank 0's counts."""


class Count(NamedTuple):
    """Of one vote of each rank."""

    losses: Losses | None
    """Of this step or the one before; None: none has reached the host."""
    vote: Vote


class Poll:
    def __init__(self, world: World) -> None:
        self._is_first = world.rank == 0
        # Of its own: a script's collectives must not come between these.
        group = distributed.new_group(backend="gloo") if world.size > 1 else None
        self._group = cast("distributed.ProcessGroup | None", group)
        self._behind = 1 if world.device.type == "cuda" else 0
        self._waiting: deque[tuple[int, Late | None, int]] = deque()
        self._cast: tuple[tuple[int, int] | None, Tensor, distributed.Work | None] | None = None

    def cast(self, step: int, loss: Tensor | float | None, samples: int, vote: Vote) -> None:
        """A rank's vote after a step. Every rank casts one at each step, and reads the count before the next."""
        self._waiting.append((step, None if loss is None else Late(loss), samples))
        self._send(vote, self._behind)

    def count(self) -> Count | None:
        """Of the votes cast last; None: they are counted."""
        if self._cast is None:
            return None
        step, sums, work = self._cast
        self._cast = None
        if work is not None:
            work.wait()
        total, losses, stop, save, seconds = sums.tolist()
        known = None if step is None else Losses(step[0], total / losses if losses else None, step[1])
        return Count(known, Vote(stop > 0, save > 0, seconds))

    def rest(self) -> Iterator[Count]:
        """Every count that is left. Waits for the device and for all ranks."""
        while (count := self.count()) is not None:
            yield count
            if self._waiting:
                self._send(Vote(stop=False, save=False, seconds=count.vote.seconds), 0)

    def _send(self, vote: Vote, behind: int) -> None:
        step, loss = None, None
        if len(self._waiting) > behind:
            number, late, samples = self._waiting.popleft()
            step, loss = (number, samples), None if late is None else late.read()
        numbers = (loss or 0.0, loss is not None, vote.stop, vote.save, vote.seconds if self._is_first else 0.0)
        sums = torch.tensor(numbers, dtype=torch.float64)
        work = distributed.all_reduce(sums, group=self._group, async_op=True) if self._group is not None else None
        self._cast = (step, sums, work)


class Late:
    """A number that is copied as soon as the device has it; to read it before that waits for the device."""

    def __init__(self, number: Tensor | float) -> None:
        self._event: torch.cuda.Event | None = None
        self._number: Tensor | float = number
        if isinstance(number, Tensor):
            # A copy that does not wait goes to pinned memory (aten/src/ATen/native/TensorConversions.cpp, _to_copy).
            self._number = number.detach().to("cpu", non_blocking=True)
            if number.is_cuda:
                self._event = torch.cuda.Event()  # type: ignore[no-untyped-call] # torch leaves it without types
                self._event.record()

    def read(self) -> float:
        if self._event is not None:
            self._event.synchronize()
        return float(self._number)
