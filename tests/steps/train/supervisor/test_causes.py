"""Which of several failures is the cause."""

import re
import signal
from types import SimpleNamespace

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train import causes, failures
from argosy.steps.train.attempt import Attempt
from argosy.steps.train.data import workers
from argosy.steps.train.failures import NO_RANK, failure_of

GLOO = RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:8744")
UNEQUAL = RuntimeError("[gloo/transport/tcp/pair.cc:446] op.preamble.length <= op.nbytes. 8 vs 4")


class DistBackendError(RuntimeError):
    """As torch names NCCL's errors."""


def caught(error):
    try:
        raise error  # noqa: TRY301 - for its traceback
    except BaseException as raised:  # noqa: BLE001 - as the worker does
        return raised


def failure(rank, error, at=0.0):
    return failure_of(rank, caught(error), step=5).model_copy(update={"at": at})


def first(found, exits, *, ended=(), out_of_memory=None, gpus=False):
    return causes.first(found, exits, 1, ended=ended, out_of_memory=out_of_memory, gpus=gpus)


def test_a_ranks_own_error_comes_before_what_others_lost_whichever_was_written_first():
    lost, own = failure(0, GLOO, at=1), failure(1, ValueError("boom"), at=2)
    assert first([lost, own], {0: 1, 1: 1}).rank == 1


def test_of_two_own_errors_the_earlier_is_the_cause():
    early, late = failure(2, ValueError("a"), at=1), failure(0, ValueError("b"), at=2)
    assert first([early, late], {0: 1, 2: 1}).message.startswith("rank 2: ValueError: a")


def test_a_crash_comes_before_the_errors_that_it_made_in_others():
    found = first([failure(0, RuntimeError("something odd"))], {0: 1, 1: -signal.SIGSEGV})
    assert (found.rank, found.exit_code) == (1, ExitCode.CODE)


def test_an_abort_by_nccl_of_a_rank_whose_peers_are_gone_hides_nothing():
    exits = {0: -signal.SIGABRT, 1: 1}
    assert first([failure(1, ValueError("boom"))], exits, gpus=True).rank == 1
    assert first([], {0: -signal.SIGABRT}, gpus=True).exit_code == ExitCode.TEMPORARY
    assert first([], {0: -signal.SIGABRT}).exit_code == ExitCode.CODE


@pytest.mark.parametrize(
    ("error", "of_peers"),
    [
        (GLOO, True),
        (RuntimeError("[gloo/..] Timed out waiting 1800000ms for recv operation to complete"), True),
        (DistBackendError("NCCL communicator was aborted on rank 1"), True),
        (UNEQUAL, False),
        (RuntimeError("Connection closed by peer"), False),
        (TimeoutError("timed out"), False),
        (ConnectionResetError("Connection reset by peer"), False),
    ],
)
def test_only_an_error_of_a_collective_is_laid_on_the_peers(error, of_peers):
    assert failures.is_of_peers(error) is of_peers


def test_a_users_exception_around_a_lost_collective_is_laid_on_the_peers():
    error = ValueError("my loop failed")
    error.__cause__ = GLOO
    assert failures.is_of_peers(error)


def test_a_killed_rank_is_out_of_memory_only_when_the_kernel_counted_it():
    exits = {0: -signal.SIGKILL}
    assert first([], exits).exit_code == ExitCode.TEMPORARY
    found = first([], exits, out_of_memory=" (limit 4Gi)")
    assert found.exit_code == ExitCode.OUT_OF_MEMORY
    assert found.message == "rank 0 was killed: out of memory (limit 4Gi); give the pod more"


def test_a_loaders_worker_that_the_kernel_killed_is_out_of_memory_and_another_error_is_not():
    loader = failure(1, RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed."))
    assert first([loader], {1: 1}, out_of_memory="").exit_code == ExitCode.OUT_OF_MEMORY
    assert first([failure(1, ValueError("boom"))], {1: 1}, out_of_memory="").exit_code == ExitCode.CODE


def test_a_worker_of_argosys_own_loader_that_the_kernel_killed_is_out_of_memory():
    killed = SimpleNamespace(join=lambda _seconds: None, exitcode=-signal.SIGKILL, pid=7)
    loader = failure(1, workers._Worker._ended(SimpleNamespace(_number=0, _process=killed)))
    assert first([loader], {1: 1}, out_of_memory="").exit_code == ExitCode.OUT_OF_MEMORY
    assert first([loader], {1: 1}).exit_code == ExitCode.TEMPORARY


def test_a_rank_that_ended_before_others_is_why_they_lost_it_and_no_cause_beside_an_error_of_their_own():
    lost = failure(0, GLOO)
    found = first([lost], {0: 1}, ended=[1])
    assert (found.rank, found.exit_code, found.of_peers) == (1, ExitCode.CODE, False)
    assert found.message.startswith("rank 1 ended before the others, which waited for it; let all ranks make")
    assert first([lost, failure(2, ValueError("boom"))], {0: 1, 2: 1}, ended=[1]).rank == 2
    assert first([], {0: -signal.SIGABRT}, ended=[1], gpus=True).rank == 1
    assert first([], {}, ended=[1]).rank == NO_RANK


class Mute(Exception):  # noqa: N818 - a user's name
    def __str__(self):
        raise KeyError("words")


def test_an_exception_that_cannot_be_asked_for_its_words_is_a_failure_of_its_rank(tmp_path):
    attempt = Attempt(tmp_path)
    attempt.report_failure(1, caught(Mute()))
    (found,) = attempt.failures()
    assert re.match(r"rank 1: KeyError: 'words' \(.*test_causes.py:\d+\)$", found.message)


def test_of_a_rank_the_first_failure_counts(tmp_path):
    attempt = Attempt(tmp_path)
    for words in ("first", "second"):
        attempt.report_failure(0, caught(ValueError(words)))
    assert [failure.message.partition(" (")[0] for failure in attempt.failures()] == ["rank 0: ValueError: first"]


def test_an_exception_of_several_lines_is_one_line():
    assert re.match(r"rank 0: ValueError: a b \(.*:\d+\)$", failure(0, ValueError("a\n  b")).message)


def test_a_syntax_error_is_placed_where_it_is_and_not_where_it_was_imported():
    error = SyntaxError("invalid syntax", ("model.py", 3, 1, "def f(:"))
    assert failure(0, error).message == "rank 0: SyntaxError: invalid syntax (model.py:3)"


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        (ExitCode.DATA, ExitCode.DATA),
        (3, ExitCode.CODE),
        (ExitCode.GATE_FAILED, ExitCode.CODE),
        ("words", ExitCode.CODE),
        ([], ExitCode.CODE),
    ],
)
def test_a_script_may_end_with_a_code_that_is_a_faults_and_any_other_is_its_own_mistake(code, exit_code):
    assert failure(0, SystemExit(code)).exit_code == exit_code


def test_a_full_disk_is_a_matter_of_configuration():
    found = failure(0, OSError(28, "No space left on device", "/models/x"))
    assert found.exit_code == ExitCode.CONFIGURATION
    assert found.message.startswith("rank 0: /models/x: No space left on device; give")


def test_a_long_exception_leaves_room_for_step_and_checkpoint():
    found = failure(0, ValueError("x" * 100_000))
    words = failures.placed(found, 100)
    assert len(words) < 3000
    assert words.endswith("; at step 5, last checkpoint 100")


@pytest.mark.parametrize(
    ("step", "message", "words"),
    [
        (None, "x.tar: is empty", "x.tar: is empty"),
        (7, "the loss is nan", "the loss is nan; at step 7, last checkpoint 4"),
        (7, "the loss is nan; last checkpoint 4 is from before", "the loss is nan; last checkpoint 4 is from before"),
    ],
)
def test_argosys_own_words_get_step_and_checkpoint_only_where_they_lack_them(step, message, words):
    assert failures.placed(failure_of(0, StepError(ExitCode.CODE, message), step=step), 4) == words
