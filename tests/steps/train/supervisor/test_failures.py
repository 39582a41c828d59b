"""Whatever ends the ranks, the last word names the first that failed, why, where, the step and the checkpoint."""

import re
from pathlib import Path

import pytest

from argosy.steps.contracts import ExitCode

RANKS = Path(__file__).parent / "ranks.py"
BOOM = 1 + RANKS.read_text().splitlines().index('    raise ValueError("boom")')
LEFT = "; at step 12, (last checkpoint [123]0|no checkpoint)$"
"""The other rank, which makes the checkpoints, waits for nobody."""


@pytest.mark.parametrize(
    ("event", "exit_code", "words"),
    [
        ("boom", ExitCode.CODE, rf"rank 1: ValueError: boom \({re.escape(str(RANKS))}:{BOOM}\)"),
        ("crash", ExitCode.CODE, "rank 1 crashed with SIGSEGV, without a Python exception; its last lines are above"),
        ("leave", ExitCode.CODE, "rank 1 ended with exit code 7, without a Python exception; its last lines are above"),
        ("code", ExitCode.DATA, rf"rank 1: SystemExit: 65 \({re.escape(str(RANKS))}:\d+\)"),
        ("kill", ExitCode.TEMPORARY, r"rank 1 was killed \(SIGKILL\), by the machine or by hand"),
        ("gpu", ExitCode.CODE, "rank 1: OutOfMemoryError: CUDA out of memory.*; that is the GPU's memory.*batch.*"),
        ("nan", ExitCode.CODE, "the loss is nan"),
    ],
)
def test_the_first_rank_that_failed_is_named_with_why_and_where_and_step_and_checkpoint(
    event, exit_code, words, trainings
):
    ended = trainings.end(event=event)
    assert ended.exit_code == exit_code, ended.stderr
    assert re.fullmatch(words + LEFT, ended.last_word), ended.last_word
    assert ended.stderr.splitlines()[-1] == ended.last_word
    (record,) = trainings.records()
    assert (record.exit_code, record.message) == (exit_code, ended.last_word)


def test_errors_of_a_collective_do_not_hide_the_rank_that_was_killed(trainings):
    ended = trainings.end(event="collective", ranks=3, hit="0,1,2")
    assert ended.exit_code == ExitCode.TEMPORARY
    assert ended.last_word.startswith("rank 1 was killed (SIGKILL)")


def test_ranks_that_only_lost_others_are_temporary_and_do_not_hide_the_one_that_raises_later(trainings):
    ended = trainings.end(event="rank_0_lost_rank_1_booms", hit="0,1")
    assert ended.exit_code == ExitCode.CODE
    assert ended.last_word.startswith("rank 1: ValueError: boom")


def test_a_rank_that_lost_the_others_says_so_when_none_of_them_says_why(trainings):
    ended = trainings.end(event="lost")
    assert ended.exit_code == ExitCode.TEMPORARY
    assert ended.last_word.startswith("rank 1 lost the others: RuntimeError: [pair.cc:534] gloo: Connection closed")


def test_an_early_failure_says_that_it_was_before_the_first_step(trainings):
    ended = trainings.end(event="boom", at=0)
    assert ended.last_word.endswith("; before the first step, no checkpoint")


def test_ranks_that_end_without_an_outcome_are_told_what_the_script_lacks(trainings):
    ended = trainings.end(mute="yes")
    assert ended.exit_code == ExitCode.CODE
    assert ended.last_word.startswith("the training ended without a model; let the script export one")


def test_a_rank_that_crashes_in_its_own_exit_has_done_its_work(trainings):
    started = trainings.start(afterwards="crash", ranks=1)
    ended = started.ended()
    assert ended.exit_code == ExitCode.OK, ended.stderr
    assert started.record.steps == 30


def test_a_torchrun_that_cannot_start_is_a_plain_word(trainings, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise ImportError('no torch of this kind')")
    ended = trainings.end(environment={"PYTHONPATH": f"{tmp_path}:{RANKS.parent}"})
    assert ended.exit_code == ExitCode.CODE
    assert ended.last_word == "torchrun cannot start the ranks: ImportError: no torch of this kind"
    assert "Traceback" not in ended.stderr


def test_the_same_failure_twice_without_a_checkpoint_between_is_final_and_the_next_start_counts_anew(trainings):
    first, second, third = (trainings.end(event="unreachable", hit="0,1", at=5) for _ in range(3))
    assert first.exit_code == ExitCode.TEMPORARY
    assert second.exit_code == ExitCode.CODE
    words = "the same failure twice in a row, without a new checkpoint between: the store does not answer"
    assert second.last_word.startswith(words)
    assert third.exit_code == ExitCode.TEMPORARY
    assert len(trainings.records()) == 3


def test_a_torchrun_that_is_killed_is_named_with_the_ranks_step_and_checkpoint(trainings):
    ended = trainings.end(event="kill_torchrun")
    words = r"torchrun was killed \(SIGKILL\), by the machine or by hand; at step \d+, .*checkpoint.*"
    assert (ended.exit_code, bool(re.fullmatch(words, ended.last_word))) == (ExitCode.TEMPORARY, True), ended.last_word


def test_kills_by_the_machine_are_tried_again_however_often(trainings):
    ended = [trainings.end(event="kill", hit="0,1", at=5).exit_code for _ in range(3)]
    assert ended == [ExitCode.TEMPORARY] * 3


def test_an_older_attempt_that_wakes_up_ends_and_writes_nothing(trainings, eventually):
    started = trainings.start(total=10_000)
    eventually((trainings.run / "begun-0").exists)
    owner = trainings.run / "owner.json"
    owner.write_text(owner.read_text().replace(trainings.records()[0].attempt, "000002-later"))
    ended = started.ended()
    assert ended.exit_code == ExitCode.TEMPORARY
    assert "a later attempt, begun at" in ended.last_word
    (record,) = trainings.records()
    assert record.ended == ""
    assert not (trainings.run / "result.json").exists()
