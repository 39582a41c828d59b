"""The attempts of a run, as the history counts them."""

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train import history, ownership
from argosy.steps.train.history import History


@pytest.fixture
def run(tmp_path):
    return History(tmp_path)


def attempt(run, code, cause, checkpoint=0, step=5):
    record = run.note(run.begin(), step, checkpoint)
    return run.end(record, code, f"rank 0 {cause}", cause).exit_code


def test_equal_failures_in_a_row_without_a_new_checkpoint_are_final(run):
    assert attempt(run, ExitCode.TEMPORARY, "hang", checkpoint=10) == ExitCode.TEMPORARY
    assert attempt(run, ExitCode.TEMPORARY, "hang", checkpoint=10) == ExitCode.CODE


@pytest.mark.parametrize(
    ("cause", "checkpoint"), [("hang", 20), ("killed", 10)], ids=["another checkpoint", "another failure"]
)
def test_progress_or_another_failure_begins_the_count_anew(cause, checkpoint, run):
    attempt(run, ExitCode.TEMPORARY, "hang", checkpoint=10)
    assert attempt(run, ExitCode.TEMPORARY, cause, checkpoint=checkpoint) == ExitCode.TEMPORARY


def test_a_stop_between_two_equal_failures_counts_for_nothing(run):
    attempt(run, ExitCode.TEMPORARY, "hang")
    attempt(run, 143, "")
    assert attempt(run, ExitCode.TEMPORARY, "hang") == ExitCode.CODE


def test_after_the_final_one_a_new_start_begins_the_count_anew(run):
    codes = [attempt(run, ExitCode.TEMPORARY, "hang") for _ in range(4)]
    assert codes == [ExitCode.TEMPORARY, ExitCode.CODE, ExitCode.TEMPORARY, ExitCode.CODE]


def test_more_memory_did_not_help_twice(run):
    assert attempt(run, ExitCode.OUT_OF_MEMORY, "out of memory") == ExitCode.OUT_OF_MEMORY
    assert attempt(run, ExitCode.OUT_OF_MEMORY, "out of memory") == ExitCode.CODE


@pytest.mark.parametrize("step", [None, 5], ids=["before the first step", "after it"])
def test_attempts_that_were_killed_say_nothing_about_the_training(step, run, tmp_path):
    for _ in range(5):
        run.note(run.begin(), step, 0)
    *killed, _last = [run.of(path.stem) for path in sorted((tmp_path / "attempts").iterdir())]
    assert all(one.message.startswith("killed, without a word") and not one.final for one in killed)


def test_a_later_attempt_shuts_an_older_one_out_of_the_history(run, tmp_path):
    older = run.begin()
    later = History(tmp_path).begin()
    ownership.require(tmp_path, later.attempt)
    for write in (lambda: run.note(older, 7, 7), lambda: run.end(older, 0)):
        with pytest.raises(StepError, match=r"a later attempt, begun at .* trains it now") as refused:
            write()
        assert refused.value.exit_code == ExitCode.TEMPORARY


def test_the_history_keeps_so_many_attempts_and_numbers_go_on(run, tmp_path):
    for _ in range(history.KEPT + 5):
        attempt(run, 143, "")
    record = run.begin()
    assert record.attempt.startswith(f"{history.KEPT + 6:06}-")
    assert len(list((tmp_path / "attempts").iterdir())) == history.KEPT


def test_a_record_that_cannot_be_read_is_passed_over(run, tmp_path):
    attempt(run, ExitCode.TEMPORARY, "hang")
    (tmp_path / "attempts/000002-torn.json").write_text("{")
    assert attempt(run, ExitCode.TEMPORARY, "hang") == ExitCode.CODE
