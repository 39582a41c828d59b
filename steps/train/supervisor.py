"""Runs torchrun, and says how it ended in the words of the one table of exit codes.

torchrun and its ranks are in sessions of their own: the supervisor alone hears signals, and asks the ranks to stop.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from argosy.steps import cores
from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.errors import StepError
from argosy.steps.train import causes, hangs, memory
from argosy.steps.train.attempt import ATTEMPT, Attempt, Outcome
from argosy.steps.train.beats import ENDED, Pulse
from argosy.steps.train.failures import NO_RANK, Failure, placed, where
from argosy.steps.train.nodes import Node
from argosy.steps.train.stopping import Stopping

WORKER = "argosy.steps.train.worker"
MEETING_SECONDS = 600.0
"""Time in which the nodes of a gang find each other: their images are pulled and their data is staged by then."""
GRACE_SHARE = 0.8
"""Part of the grace that the ranks have; the rest is for ending them and saying so."""
LOOK_SECONDS = 0.2
ELSEWHERE_SECONDS = 3.0
"""Time between two looks at whether another node failed."""
ENDING_SECONDS = 4.0
"""Time for torchrun to end itself and those of its ranks that have not begun."""
SHUTDOWN_SECONDS = 2
"""Time between torchrun's SIGTERM and its SIGKILL for ranks."""


class Supervisor:
    """Of one node's part of an attempt."""

    def __init__(
        self,
        inputs: TrainInput,
        folder: Path,
        node: Node,
        owner: str,
        *,
        note: Callable[[int | None, int | None], None],
        elsewhere: Callable[[str], Failure | None],
        module: str = WORKER,
        meeting_seconds: float = MEETING_SECONDS,
    ) -> None:
        """`note` is told of the steps done and of the newest checkpoint, again and again; `elsewhere` says why another
        node of an attempt failed.
        """
        self._inputs, self._node, self._note, self._elsewhere = inputs, node, note, elsewhere
        self._words = [sys.executable, "-m", "argosy.steps.train.launcher", str(folder), module, owner]
        self._words.append(str(meeting_seconds))
        self.attempt = Attempt(folder)
        self._memory = memory.of_this_pod()
        self._kills = self._memory.kills()
        self._pulses: list[Pulse] = []
        """Of this node's ranks, as far as they have begun, at the last look."""
        self._watch: hangs.Watch | None = None
        self._stopping = Stopping()
        self._looked_at = 0.0
        self._late: list[int] = []
        """Ranks that were asked to stop and had to be killed."""

    def train(self) -> Outcome | None:
        """Trains until the end. None: this node's ranks have ended well, and another node knows the outcome.

        Raises Terminated or KeyboardInterrupt when a signal stopped it, Failed when anything else did, and StepError
        (TEMPORARY) when a later attempt owns the run.
        """
        self.attempt.begin(self._inputs)
        environment = _environment(self._inputs, self.attempt.folder)
        with (
            self._stopping,
            self.attempt.leash() as leash,
            subprocess.Popen(self._words, env=environment, start_new_session=True) as torchrun,
        ):
            try:
                failure = self._watched(torchrun, leash)
            finally:
                self._end(torchrun)
            self._look()
            return self._judged(torchrun.returncode, failure)

    def _watched(self, torchrun: subprocess.Popen[bytes], leash: int) -> Failure | None:
        """Until torchrun has ended, or must be: for a hang, another node's failure, or since the grace is over."""
        asked = False
        while True:
            try:
                torchrun.wait(LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            else:
                return None
            self._look()
            if self._stopping.signal and not asked:
                if self.attempt.group is None:
                    return None  # there are no ranks yet
                self.attempt.ask_to_stop(leash)
                asked = True
            if asked and time.monotonic() - self._stopping.at > GRACE_SHARE * self._inputs.grace_seconds:
                self._late = [pulse.rank for pulse in self._alive()]
                return None
            if not asked and (failure := self._hang() or self._failure_elsewhere()):
                return failure

    def _look(self) -> None:
        """Reads every beat, once, and tells what is new."""
        self._pulses = [pulse for rank in self._ranks() if (pulse := self.attempt.pulse(rank))]
        self._note(*self._last())

    def _last(self) -> tuple[int | None, int | None]:
        """Steps done by the rank that is furthest, and the newest checkpoint; None: not known."""
        steps = [pulse.step for pulse in self._pulses if pulse.step is not None]
        return max(steps, default=None), self.attempt.checkpoint()

    def _hang(self) -> Failure | None:
        if self._watch is None and (ranks := self._ranks()):
            self._watch = hangs.Watch(self.attempt.folder, self._inputs, ranks)
        return self._watch.hang(self._pulses) if self._watch else None

    def _failure_elsewhere(self) -> Failure | None:
        """Asked since torchrun waits five minutes for the ranks of a node that is gone, when its own have ended."""
        group, now = self.attempt.group, time.monotonic()
        if self._node.of == 1 or group is None or now - self._looked_at < ELSEWHERE_SECONDS:
            return None
        self._looked_at = now
        return self._elsewhere(group.owner)

    def _ranks(self) -> list[int]:
        """Of this node; none before the nodes have met, and where they met without this one."""
        group = self.attempt.group
        if group is None or self._node.rank not in group.nodes:
            return []
        first = group.nodes.index(self._node.rank) * self._inputs.ranks
        return list(range(first, first + self._inputs.ranks))

    def _alive(self) -> list[Pulse]:
        return [pulse for pulse in self._pulses if hangs.is_alive(pulse.pid)]

    def _end(self, torchrun: subprocess.Popen[bytes]) -> None:
        """Ends torchrun and its ranks, unless they have ended well. Ranks that have not begun are left to the leash."""
        if torchrun.poll() == 0:
            return
        for pulse in self._alive():  # before torchrun, their parent: a process id is not another's yet
            with suppress(ProcessLookupError):
                os.killpg(pulse.pid, signal.SIGKILL)
        torchrun.terminate()
        try:
            torchrun.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            torchrun.kill()
            torchrun.wait()

    def _judged(self, exit_code: int, failure: Failure | None) -> Outcome | None:
        outcome = self.attempt.outcome()
        # A rank that hangs or crashes in its own exit has done its work; one that raises has more to say.
        if outcome and outcome.model_hash and not self.attempt.failures():
            return outcome
        if self._stopping.signal:
            raise self._stopping.stopped(self._left(exit_code, outcome))
        if failure:  # what a rank or a helper of one told before comes first
            own = (one for one in self.attempt.failures() if not one.of_peers)
            raise Failed(next(own, failure), self.attempt.checkpoint())
        if exit_code:
            raise Failed(self._cause(exit_code), self.attempt.checkpoint())
        if outcome and self._node.of > 1:
            raise StoppedElsewhere(f"stopped with another node {self._left(exit_code, outcome)}")
        if self._node.is_leader:
            words = "the training ended without a model; let the script export one: session.export(model, sample)"
            raise StepError(ExitCode.CODE, words)
        return None

    def _cause(self, exit_code: int) -> Failure:
        rose = self._memory.kills() > self._kills
        cause = causes.first(
            self.attempt.failures(),
            self.attempt.exits(),
            exit_code,
            ended=[pulse.rank for pulse in self._pulses if pulse.rest == ENDED],
            out_of_memory=self._memory.limit_words() if rose else None,
            gpus=self._inputs.gpus > 0,
        )
        sys.stderr.write(cause.trace)
        if cause.step is None:
            steps = {pulse.rank: pulse.step for pulse in self._pulses} | {NO_RANK: self._last()[0]}
            return cause.model_copy(update={"step": steps.get(cause.rank)})
        return cause

    def _left(self, exit_code: int, outcome: Outcome | None) -> str:
        """How a stop left the training."""
        step, checkpoint = self._last()
        if outcome:
            return f"at step {outcome.step}, with a checkpoint"
        if self._late:
            seconds = GRACE_SHARE * self._inputs.grace_seconds
            verb = "was" if len(self._late) == 1 else "were"
            return (
                f"{where(step, checkpoint)}: {hangs.named(self._late)} did not stop within {seconds:.3g} s "
                f"and {verb} killed"
            )
        if exit_code == 0 and step is not None:
            return f"at step {step}, with a checkpoint"
        if exit_code > 0 and self.attempt.group:
            return f"{where(step, checkpoint)}: {self._cause(exit_code).message}"
        return where(step, checkpoint)


class Failed(Exception):  # noqa: N818 - it is how an attempt ended, and carries an error
    """The ranks failed."""

    def __init__(self, failure: Failure, checkpoint: int | None) -> None:
        """`failure.message` then says the step and the last checkpoint, too."""
        self.failure = failure.model_copy(update={"message": placed(failure, checkpoint)})
        super().__init__(self.failure.message)


class StoppedElsewhere(Exception):  # noqa: N818 - it is no error
    """Another node was asked to stop, and all did."""


def _environment(inputs: TrainInput, folder: Path) -> dict[str, str]:
    threads = max(1, cores.usable() // inputs.ranks)
    return {
        "OMP_NUM_THREADS": str(threads),
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(SHUTDOWN_SECONDS),
        **os.environ,
        ATTEMPT: str(folder),
    }
