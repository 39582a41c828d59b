"""Ranks that make no steps any more."""

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from traceback import FrameSummary

from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.train import stacks
from argosy.steps.train.beats import Pulse
from argosy.steps.train.failures import NO_RANK, Failure

PATIENCE = 3
"""Times `hang_seconds` that the first step may take, and a phase without steps."""
NAMED = 4


class Watch:
    """Looks at the beats of a node's ranks, from the moment when they are started."""

    def __init__(self, folder: Path, inputs: TrainInput, ranks: Sequence[int]) -> None:
        """`folder`: the attempt's."""
        self._folder, self._inputs, self._ranks = folder, inputs, ranks
        self._began = time.monotonic()

    def hang(self, pulses: Sequence[Pulse]) -> Failure | None:
        """Why the ranks are taken for hung, with their stacks on stderr; None: they are not. `pulses` of those that
        have begun.
        """
        now = time.monotonic()
        absent = sorted(set(self._ranks) - {pulse.rank for pulse in pulses})
        if absent and now - self._began > PATIENCE * self._inputs.hang_seconds:
            return _failure(absent, f"no sign of life for {now - self._began:.0f} s", "did not begin", None)
        alive = [pulse for pulse in pulses if is_alive(pulse.pid)]
        if not any(now - pulse.sign > limit_seconds(pulse, self._inputs) for pulse in alive):
            return None
        return self._named(alive, now)

    def _named(self, pulses: Sequence[Pulse], now: float) -> Failure:
        texts = stacks.asked(self._folder, {pulse.rank: pulse.pid for pulse in pulses})
        for rank, text in texts.items():
            sys.stderr.write(f"rank {rank} is here:\n{text.rstrip()}\n")
        found = {pulse.rank: stacks.frames(texts.get(pulse.rank, ""), pulse.main_thread) for pulse in pulses}
        busy = [pulse for pulse in pulses if not stacks.waits_for_others(found[pulse.rank])]
        last = min(pulse.step or 0 for pulse in pulses)
        behind = [pulse for pulse in pulses if (pulse.step or 0) == last]
        # All ranks stand at the same step when one holds up a collective operation: those inside it wait for it.
        culprits = [pulse for pulse in behind if pulse in busy] or behind
        silence = now - min(pulse.sign for pulse in culprits)
        median = max(pulse.median for pulse in culprits)
        how = f"no step for {silence:.0f} s{f' (median {_seconds(median)} s)' if median else ''}"
        places = {pulse.rank: _place(pulse, texts, found) for pulse in culprits}
        failure = _failure(list(places), how, _places(places), culprits[0].step)
        return failure.model_copy(update={"of_peers": not any(pulse in busy for pulse in behind)})


def is_alive(pid: int) -> bool:
    """A rank that has ended is torchrun's to judge."""
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def limit_seconds(pulse: Pulse, inputs: TrainInput) -> float:
    """Time without a sign after which this rank hangs."""
    if pulse.rest or pulse.step is None:
        return PATIENCE * inputs.hang_seconds
    return max(inputs.hang_seconds, inputs.hang_factor * pulse.median)


def _place(pulse: Pulse, texts: Mapping[int, str], found: Mapping[int, Sequence[FrameSummary]]) -> str:
    if pulse.rank not in texts:
        return "does not answer: it is stopped, or waits inside the kernel"
    phase = f" ({pulse.rest})" if pulse.rest else ""
    return f"is in {stacks.place(found[pulse.rank]) or 'native code'}{phase}"


def _places(places: Mapping[int, str]) -> str:
    if len(places) == 1:
        return f"it {next(iter(places.values()))}"
    told = [f"rank {rank} {place}" for rank, place in list(places.items())[:NAMED]]
    return ", ".join(told)


def _failure(ranks: Sequence[int], how: str, places: str, step: int | None) -> Failure:
    return Failure(
        rank=ranks[0] if ranks else NO_RANK,
        at=time.time(),
        exit_code=ExitCode.TEMPORARY,
        message=f"{named(ranks)} {'hangs' if len(ranks) == 1 else 'hang'}: {how}; {places}",
        cause=f"hang; {places}",
        step=step,
    )


def named(ranks: Iterable[int]) -> str:
    """`rank 3`, `ranks 1 and 3`, `ranks 0, 1, 2 and 3`."""
    *most, last = [str(rank) for rank in sorted(ranks)]
    return f"ranks {', '.join(most)} and {last}" if most else f"rank {last}"


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
