"""What a drill must not pass over: each thing that could be wrong is a breach."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from drill import Ended
from findings import AGAIN, Findings
from records import Record

SAMPLES = range(6)
PER_EPOCH, TOTAL = 3, 6


class Kept(Findings):
    """Whose models are not read."""

    models = {}  # noqa: RUF012 - a test changes a copy of it

    def _weights(self, run):
        return {"weight": torch.tensor(self.models.get(run, 1.0))}


def attempt(*steps, killed="", exit_code=0, resumed=0, saves=(), committed=0, said=""):
    record = Record(Path("attempt"))
    record.resumed, record.saves = resumed, list(saves)
    record.steps = {step: {rank: ([(2 * step + rank) % 6], f"state {step}") for rank in (0, 1)} for step in steps}
    return Ended(killed, exit_code, said, record, committed)


def breaches(*attempts, **models):
    found = Kept(None, attempt(*range(1, TOTAL + 1)), samples=SAMPLES, per_epoch=PER_EPOCH, total=TOTAL)
    found.models = models
    for number in range(len(attempts)):
        found.add(attempts[: number + 1])
    found.finish("r", attempts)
    return found.breaches


KILLED = {"killed": "supervisor", "exit_code": -9}


def killed_at_3():
    """After the checkpoint of step 2."""
    return attempt(1, 2, 3, saves=[2], committed=2, **KILLED)


def resumed_at_2():
    return attempt(3, 4, 5, 6, resumed=2)


def changed(ended, step, samples=None, state=None):
    before = ended.record.steps[step][1]
    ended.record.steps[step][1] = samples or before[0], state or before[1]
    return ended


def test_a_training_that_was_killed_and_is_equal_is_no_breach():
    refused = attempt(exit_code=1, said=AGAIN, resumed=None, committed=2)
    assert breaches(killed_at_3(), refused, resumed_at_2()) == []


@pytest.mark.parametrize(
    ("attempts", "words"),
    [
        ([killed_at_3(), attempt(2, 3, 4, 5, 6, resumed=1)], "went on from step 1"),
        ([attempt(1, 2, 3, saves=[1, 2, 3], **KILLED), attempt(*range(1, 7))], "checkpoints begun at [0, 1, 2, 3]"),
        ([killed_at_3(), changed(resumed_at_2(), 4, state="torn")], "not those of the uninterrupted"),
        ([killed_at_3(), changed(resumed_at_2(), 4, samples=[5])], "the epoch of step 4 saw"),
        ([killed_at_3(), attempt(4, 5, 6, resumed=2)], "made the steps [1, 2, 4, 5, 6]"),
        ([killed_at_3(), replace(resumed_at_2(), said="checkpoint x: is damaged: y")], "a checkpoint was damaged"),
        ([replace(killed_at_3(), exit_code=75), resumed_at_2()], "ended with exit code 75"),
        ([replace(killed_at_3(), killed="rank 1", exit_code=1), resumed_at_2()], "ended with exit code 1"),
        ([attempt(exit_code=1, said=AGAIN), attempt(*range(1, 7))], "was refused, though nothing was killed"),
        ([replace(killed_at_3(), killed="SIGTERM", exit_code=143), resumed_at_2()], "lost 1 steps by a SIGTERM"),
    ],
)  # fmt: skip
def test_what_must_not_be_is_a_breach(attempts, words):
    assert any(words in breach for breach in breaches(*attempts)), breaches(*attempts)


def test_another_model_is_a_breach():
    (breach,) = breaches(killed_at_3(), resumed_at_2(), r=2.0)
    assert "the model is not that of the uninterrupted training" in breach
