"""What a supervisor looks at, several times a second."""

from collections import Counter
from pathlib import Path

import pytest

from argosy.steps.contracts import TrainInput
from argosy.steps.train.attempt import Group
from argosy.steps.train.beats import Beat
from argosy.steps.train.failures import failure_of
from argosy.steps.train.nodes import Node
from argosy.steps.train.supervisor import Failed, Supervisor

INPUTS = TrainInput(
    output="o", task="a:B", cache="c", dataset_hash="0" * 32, models="m", run="r", ranks=2,
    checkpoint_every_seconds=1, checkpoints_kept=2,
)  # fmt: skip


@pytest.fixture
def reads(monkeypatch):
    """How often each file was read."""
    counted = Counter()
    original = Path.read_bytes

    def read_bytes(path):
        counted[path.name] += 1
        return original(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    return counted


def supervising(folder, note):
    one = Node(rank=0, of=1, at_least=1)
    return Supervisor(INPUTS, folder, one, "a", note=note, elsewhere=lambda _attempt: None)


def test_what_was_told_comes_before_the_hang_that_it_left(tmp_path):
    supervisor = supervising(tmp_path, lambda *_: None)
    supervisor.attempt.report_failure(0, ValueError("boom"))
    hang = failure_of(1, RuntimeError("hang"), step=None)
    with pytest.raises(Failed, match="rank 0: ValueError: boom"):
        supervisor._judged(-15, hang)


def test_a_look_reads_each_beat_once_and_the_group_is_read_once_for_all(tmp_path, reads):
    told = []
    supervisor = supervising(tmp_path, lambda *given: told.append(given))
    supervisor.attempt.gather(Group(owner="a"))
    beats = [Beat(tmp_path / f"beat-{rank}") for rank in range(2)]
    supervisor.attempt.report_checkpoint(4)
    for step in range(5, 8):
        beats[1].at(step)
        supervisor._look()
        assert supervisor._hang() is None
        assert len(supervisor._alive()) == 2
    assert told == [(5, 4), (6, 4), (7, 4)]
    assert reads == {"group.json": 1, "beat-0": 3, "beat-1": 3}
