"""SIGTERM and Ctrl-C: a checkpoint within the grace, whatever the ranks do."""

import re
import signal

import pytest

from argosy.steps.contracts import ExitCode

ENDLESS = 100_000


@pytest.fixture
def training(trainings, eventually):
    """Starts one, and gives it when its ranks make steps."""

    def begun(**asked):
        before = len(trainings.records())
        started = trainings.start(total=ENDLESS, **asked)
        eventually(lambda: any(record.step is not None for record in trainings.records()[before:]))
        return started

    return begun


@pytest.mark.parametrize(
    ("number", "exit_code", "name"), [(signal.SIGTERM, 143, "SIGTERM"), (signal.SIGINT, 130, "an interrupt")]
)
def test_a_signal_ends_with_a_checkpoint_and_says_at_which_step(number, exit_code, name, training, trainings):
    started = training()
    started.process.send_signal(number)
    ended = started.ended()
    assert ended.exit_code == exit_code, ended.stderr
    step = int((trainings.run / "kept").read_text())
    assert ended.last_word == f"stopped by {name} at step {step}, with a checkpoint"
    (record,) = trainings.records()
    assert (record.checkpoint, record.cause) == (step, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_cut_the_saving_short(number, training, trainings, eventually):
    started = training()
    (trainings.run / "slow").touch()
    started.process.send_signal(number)
    eventually((trainings.run / "saving").exists)
    started.process.send_signal(number)
    (trainings.run / "saved").touch()
    ended = started.ended()
    assert ended.exit_code == 128 + number
    assert ended.last_word.endswith(", with a checkpoint")


def test_a_rank_that_does_not_stop_in_time_is_killed_and_the_last_checkpoint_is_named(training, trainings):
    started = training(deaf=0, grace_seconds=2)
    started.process.send_signal(signal.SIGTERM)
    ended = started.ended()
    assert ended.exit_code == 143
    found = re.fullmatch(
        r"stopped by SIGTERM at step \d+, last checkpoint (\d+): rank 0 did not stop within 1.6 s and was killed",
        ended.last_word,
    )
    assert found, ended.last_word
    assert found[1] == (trainings.run / "kept").read_text()


def test_ranks_that_fail_while_they_stop_are_named_and_the_code_stays_that_of_the_signal(training):
    started = training(event="boom_once_stopping")
    started.process.send_signal(signal.SIGTERM)
    ended = started.ended()
    assert ended.exit_code == 143
    assert re.search(r"^stopped by SIGTERM at step \d+, .*: rank 0: ValueError: boom", ended.last_word)


def test_stops_in_a_row_are_no_failures_and_a_stopped_training_goes_on(training, trainings):
    for _ in range(2):
        started = training()
        started.process.send_signal(signal.SIGTERM)
        assert started.ended().exit_code == 143
    (trainings.run / "enough").touch()
    resumed = trainings.start(total=ENDLESS)
    assert resumed.ended().exit_code == ExitCode.OK
    assert resumed.record.resumed_at_step == int((trainings.run / "kept").read_text())
