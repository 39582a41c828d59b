"""A hang is seen, its place is named, and everything is ended."""

import re
import signal
import sysconfig
import time
from pathlib import Path
from traceback import FrameSummary

import pytest

from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.train import hangs, stacks
from argosy.steps.train.beats import Beat, pulse

RANKS = Path(__file__).parent / "ranks.py"
INPUTS = TrainInput(
    output="o", task="a:B", cache="c", dataset_hash="0" * 32, models="m", run="r", ranks=2,
    checkpoint_every_seconds=1, checkpoints_kept=2, hang_factor=30, hang_seconds=300,
)  # fmt: skip


def test_a_rank_that_hangs_is_named_with_the_users_line_and_every_stack_is_shown(trainings):
    ended = trainings.end(event="hang", hang_seconds=1.5, total=100_000)
    assert ended.exit_code == ExitCode.TEMPORARY, ended.stderr
    line = rf"{re.escape(str(RANKS))}:\d+ hang\(\)"
    words = rf"rank 1 hangs: no step for \d s \(median 0\.\d+ s\); it is in {line}; at step 12, last checkpoint \d+"
    assert re.fullmatch(words, ended.last_word), ended.last_word
    assert ended.stderr.splitlines()[-1] == ended.last_word
    for rank in (0, 1):
        assert f"rank {rank} is here:" in ended.stderr


def test_a_rank_in_a_collective_is_not_taken_for_the_one_that_it_waits_for(trainings):
    ended = trainings.end(event="rank_1_hangs_in_a_collective_of_all", hit="0,1", hang_seconds=1.5)
    assert ended.exit_code == ExitCode.TEMPORARY, ended.stderr
    assert re.match(r"rank 1 hangs: .* it is in .*ranks.py:\d+ hang\(\)", ended.last_word), ended.last_word


def test_a_rank_that_is_stopped_and_cannot_say_where_it_is_is_ended_too(trainings):
    ended = trainings.end(event="freeze", hang_seconds=1.5, total=100_000)
    assert ended.exit_code == ExitCode.TEMPORARY, ended.stderr
    assert "rank 1 hangs: " in ended.last_word
    assert "it does not answer" in ended.last_word


@pytest.fixture
def beat(tmp_path):
    return Beat(tmp_path / "beat-0"), lambda: pulse(tmp_path / "beat-0", 0)


def test_the_first_step_has_three_times_the_time_and_so_has_a_phase_without_steps(beat):
    write, read = beat
    assert hangs.limit_seconds(read(), INPUTS) == 900
    write.at(1)
    assert hangs.limit_seconds(read(), INPUTS) == 300
    write.rest("evaluate")
    assert hangs.limit_seconds(read(), INPUTS) == 900
    assert read().rest == "evaluate"
    write.work()
    assert (hangs.limit_seconds(read(), INPUTS), read().step, read().rest) == (300, 1, "")
    write.rest("save")
    write.at(2)
    assert (hangs.limit_seconds(read(), INPUTS), read().step, read().rest) == (300, 2, "")


def test_slow_steps_have_their_median_times_the_factor(beat, monkeypatch):
    write, read = beat
    now = time.monotonic()
    for step in range(200):
        monkeypatch.setattr(time, "monotonic", lambda step=step: now + 60 * step + (500 if step > 190 else 0))
        write.at(step)
    assert read().median == pytest.approx(60)
    assert hangs.limit_seconds(read(), INPUTS) == pytest.approx(1800)


def test_a_beat_costs_less_than_a_hundredth_of_a_millisecond(beat):
    write, _ = beat
    started = time.perf_counter()
    for step in range(10_000):
        write.at(step)
    assert (time.perf_counter() - started) / 10_000 < 1e-5


def test_ranks_are_listed_as_people_list_them():
    assert [hangs.named(ranks) for ranks in ([3], [3, 1], [2, 0, 1])] == ["rank 3", "ranks 1 and 3", "ranks 0, 1 and 2"]


def test_a_place_is_the_users_line_even_when_a_library_holds_it_up():
    library = f"{sysconfig.get_path('stdlib')}/threading.py"
    stack = [FrameSummary(name, 7, "forward") for name in (library, "/app/model.py", stacks.__file__, library)]
    assert stacks.place(stack) == "/app/model.py:7 forward()"


def test_the_signal_for_stacks_is_not_one_that_asks_to_stop():
    assert stacks.SIGNAL not in {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
