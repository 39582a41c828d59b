"""What a script does that it should not: each ends in a word that says what, and where."""

import re
import signal

import pytest

from argosy.steps.contracts import ExitCode

EARLY = """
import os, sys
from torch import distributed, zeros
distributed.init_process_group("gloo")
if os.environ["RANK"] == "1":
    sys.exit(0)
distributed.all_reduce(zeros(1))
"""
HANGING = """
import time
while True:
    time.sleep(0.05)
"""
UNGUARDED = """
import multiprocessing
from argosy.steps.train.session import joined

class Loader:
    def __init__(self):
        worker = multiprocessing.get_context("spawn").Process(target=print)
        worker.start()
        worker.join()
        raise RuntimeError("a worker of the loader exited unexpectedly")

if __name__ == "__main__":
    Loader()
with joined():
    pass
"""


@pytest.fixture
def run(trainings, tmp_path):
    def ended(script, **asked):
        path = tmp_path / "script.py"
        path.write_bytes(script if isinstance(script, bytes) else script.encode())
        return trainings.end(script=path, **asked)

    return ended


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (b"x = 1\ndef f(:\n", r"SyntaxError: invalid syntax \(SCRIPT:2\)"),
        (b"x = 1\0", r"SyntaxError: .*null bytes.* \(SCRIPT(:\d+)?\)"),
        (b"import nowhere", r"ModuleNotFoundError: No module named 'nowhere' \(SCRIPT:1\)"),
        (b"raise ValueError('a\\nb')", r"ValueError: a b \(SCRIPT:1\)"),
    ],
    ids=["syntax", "null byte", "import", "lines"],
)
def test_a_script_that_cannot_begin_is_named_with_its_line(script, words, run, tmp_path):
    ended = run(script, ranks=1)
    assert ended.exit_code == ExitCode.CODE
    words = "rank 0: " + words.replace("SCRIPT", re.escape(str(tmp_path / "script.py"))) + "; before the first step"
    assert re.fullmatch(words, ended.last_word), ended.last_word


def test_a_script_that_does_not_train_is_told_what_it_lacks(run):
    ended = run("import sys; sys.exit()", ranks=1)
    assert ended.exit_code == ExitCode.CODE
    assert ended.last_word.startswith("the training ended without a model; let the script export one")


def test_a_rank_that_leaves_early_is_why_the_others_lost_it(run):
    ended = run(EARLY)
    assert ended.exit_code == ExitCode.CODE, ended.stderr
    assert ended.last_word.startswith("rank 1 ended before the others, which waited for it; ")


def test_a_hang_before_the_ranks_have_joined_is_placed(run, tmp_path):
    ended = run(HANGING, ranks=1, hang_seconds=1.5)
    assert ended.exit_code == ExitCode.TEMPORARY, ended.stderr
    place = rf"{re.escape(str(tmp_path / 'script.py'))}:\d <module>\(\) \(start\)"
    words = rf"rank 0 hangs: no step for \d+ s; it is in {place}; before the first step"
    assert re.fullmatch(words, ended.last_word), ended.last_word
    assert "rank 0 is here:" in ended.stderr


def test_a_script_that_its_own_helpers_run_anew_is_told_of_the_guard(run):
    ended = run(UNGUARDED, ranks=1)
    assert ended.exit_code == ExitCode.CODE, ended.stderr
    words = 'and each runs the script anew; put all but imports and definitions below `if __name__ == "__main__":`'
    assert words in ended.last_word


def test_sigterm_before_the_first_step_ends_a_script_that_does_not_listen_within_the_grace(
    trainings, tmp_path, eventually
):
    script, begun = tmp_path / "script.py", tmp_path / "begun"
    script.write_text(f"open({str(begun)!r}, 'w').close()\n{HANGING}")
    started = trainings.start(script=script, ranks=1, grace_seconds=2)
    eventually(begun.exists)
    started.process.send_signal(signal.SIGTERM)
    ended = started.ended()
    assert ended.exit_code == 143
    assert (
        ended.last_word == "stopped by SIGTERM before the first step: rank 0 did not stop within 1.6 s and was killed"
    )
