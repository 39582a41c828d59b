"""What a drill has found: what kills cost, and what they broke.

- An attempt goes on from the newest checkpoint in the model store, and that is the last or the last but one that was
  begun: no kill loses more than the interval between two checkpoints. A stop by SIGTERM loses no step.
- Each step of an attempt is done on the samples of the uninterrupted training's, and leaves the same weights, averages
  of them, and optimiser, bit for bit. So no checkpoint that is torn is ever loaded.
- The steps that count, which no later attempt made again, see every sample of every epoch once.
- The exported model is the uninterrupted training's, bit for bit.
"""

import signal
import statistics
from collections import Counter
from itertools import pairwise

import torch

from argosy.steps import serving
from argosy.steps.contracts import ExitCode

AGAIN = "the same failure twice in a row, without a new checkpoint between: "
SIGTERM = 128 + signal.SIGTERM


class Findings:
    def __init__(self, models, whole, *, samples, per_epoch, total):
        """`whole` is the attempt of a training that nothing interrupted, each of whose epochs has these samples."""
        self._models, self._whole = models, whole
        self._samples, self._per_epoch, self._total = samples, per_epoch, total
        self.trainings = self._equal = self._attempts = self._redone = self._refused = self._epochs = self._cut = 0
        self._kills, self._lost, self._between = Counter(), [], []
        self.breaches = []
        self._require(whole.exit_code == 0, whole, f"the uninterrupted training failed: {whole.said}")
        self._require_epochs(whole.record.steps, whole)

    def add(self, attempts):
        """The last of a training's attempts, after all that were before it."""
        ended = attempts[-1]
        self._attempts += 1
        self._kills[ended.killed] += 1
        self._require_ending(attempts)
        self._require("damaged" not in ended.said, ended, f"a checkpoint was damaged: {ended.said}")
        self._require(self._equals_whole(ended.record), ended, "steps are not those of the uninterrupted training")
        if ended.record.resumed is not None:
            self._require_resumed(attempts)
            begun = [ended.record.resumed, *ended.record.saves]
            self._between += [later - earlier for earlier, later in pairwise(begun)]

    def finish(self, run, attempts):
        """A training has ended, after these attempts."""
        self.trainings += 1
        counting = {}
        for attempt in attempts:
            if attempt.record.resumed is not None:
                self._redone += sum(step > attempt.record.resumed for step in counting)
                counting = {step: of for step, of in counting.items() if step <= attempt.record.resumed}
                counting |= attempt.record.steps
        self._require_epochs(counting, attempts[-1])
        one, other = (self._weights(name) for name in ("whole", run))
        equal = one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
        self._require(equal, attempts[-1], "the model is not that of the uninterrupted training")
        self._equal += equal

    def told(self):
        killed = {name or "none, it had ended": count for name, count in self._kills.items()}
        return {
            "killed": dict(sorted(killed.items())),
            "kills in the middle of a save": self._cut,
            "refused as equal failures in a row": self._refused,
            "attempts": self._attempts,
            "trainings that ended": self.trainings,
            "of these equal to the uninterrupted one bit for bit": self._equal,
            "epochs that saw each sample once": self._epochs,
            "steps made again": self._redone,
            "steps lost by a kill": spread(self._lost),
            "steps between two checkpoints": spread(self._between),
            "breaches": self.breaches,
        }

    def _require_ending(self, attempts):
        """Its exit code is that of how it was killed."""
        ended = attempts[-1]
        wanted = {
            "supervisor": {-signal.SIGKILL},
            "SIGTERM": {SIGTERM, -signal.SIGTERM, 0},  # before it listens; when all is done
            "": {0},
        }.get(ended.killed, {ExitCode.TEMPORARY, 0})
        if ended.exit_code == ExitCode.CODE and AGAIN in ended.said:
            self._refused += 1
            after_a_kill = bool(ended.killed) or any(one.killed for one in attempts[-2:-1])
            self._require(after_a_kill, ended, f"was refused, though nothing was killed: {ended.said}")
            return
        self._require(ended.exit_code in wanted, ended, f"ended with exit code {ended.exit_code}: {ended.said}")

    def _require_resumed(self, attempts):
        """It went on where it should."""
        *before, ended = attempts
        resumed = ended.record.resumed
        self._require(resumed == (before[-1].committed if before else 0), ended, f"went on from step {resumed}")
        began = [one for one in before if one.record.resumed is not None]
        if not began:
            return
        last = began[-1]
        begun = [last.record.resumed, *last.record.saves]
        self._require(resumed in begun[-2:], ended, f"went on from step {resumed}, with checkpoints begun at {begun}")
        self._cut += resumed != begun[-1]
        lost = (last.record.last or resumed) - resumed
        self._lost.append(lost)
        if last.exit_code == SIGTERM and last is before[-1]:
            self._require(lost == 0, ended, f"lost {lost} steps by a SIGTERM")

    def _equals_whole(self, record):
        whole = self._whole.record.steps
        return all(whole[step][rank] == one for step, of in record.steps.items() for rank, one in of.items())

    def _require_epochs(self, steps, ended):
        self._require(sorted(steps) == [*range(1, self._total + 1)], ended, f"made the steps {sorted(steps)}")
        for first in range(1, self._total, self._per_epoch):
            made = (steps.get(step, {}) for step in range(first, first + self._per_epoch))
            seen = Counter(sample for of in made for samples, _ in of.values() for sample in samples)
            self._require(seen == Counter(self._samples), ended, f"the epoch of step {first} saw {seen}")
            self._epochs += 1

    def _require(self, condition, ended, words):
        if not condition:
            self.breaches.append(f"{ended.record.path.name}: {words}")

    def _weights(self, run):
        return serving.load_program(self._models / run / "model" / "model.pt2").state_dict()


def spread(numbers):
    return {"mean": round(statistics.mean(numbers), 1), "most": max(numbers)} if numbers else {}
