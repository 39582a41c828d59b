"""Worker processes say what went wrong, and none outlives its rank."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import traceback

import psutil
import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.data.loader import Loader

RANK = """
import json, sys
from pathlib import Path
import psutil
sys.path.insert(0, {tasks!r})
import drawing
from argosy.steps.shards.indexing import index
from argosy.steps.train.data.loader import Loader

# No guard by __main__: workers do not run the script that started them.
dataset = index(Path({folder!r}), "train")
loader = Loader(drawing.Drawing(), dataset, batch_size=2, epochs=10_000, seed=0, rank=0, size=1, workers=2)
batches = loader.batches(0)
next(batches)
print(json.dumps([child.pid for child in psutil.Process().children(recursive=True)]), flush=True)
sys.stdin.readline()
raise RuntimeError("as told")
"""


@pytest.fixture
def loader(dataset):
    def made(task, **settings):
        fields = {"batch_size": 2, "epochs": 50, "seed": 0, "rank": 0, "size": 1, "workers": 2}
        return Loader(task, dataset(6, 6), **{**fields, **settings})

    return made


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    assert not multiprocessing.active_children()
    assert not [thread for thread in threading.enumerate() if thread.name == "argosy-loader"]


def test_a_killed_worker_ends_the_rank_with_an_error_that_says_so(tasks, loader):
    batches = loader(tasks.Drawing()).batches(0)
    next(batches)
    victim = multiprocessing.active_children()[0]
    os.kill(victim.pid, signal.SIGKILL)
    with pytest.raises(StepError, match=rf"\(process {victim.pid}\) was killed by SIGKILL") as caught:
        list(batches)
    assert caught.value.exit_code == ExitCode.TEMPORARY


def test_a_worker_that_its_sample_kills_is_no_hang(tasks, loader):
    with pytest.raises(StepError, match="was killed by SIGKILL"):
        list(loader(tasks.Failing("die")).batches(0))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_for_the_whole_group_stops_no_worker(number, tasks, loader):
    batches = loader(tasks.Drawing(), epochs=5).batches(0)
    next(batches)
    for child in multiprocessing.active_children():
        os.kill(child.pid, number)
    assert len(list(batches)) == 29


@pytest.mark.parametrize("workers", [0, 2])
def test_a_refused_sample_is_named_whoever_read_it(workers, tasks, loader):
    with pytest.raises(StepError, match=r"train-0001.tar: sample 000007: is too blue; its members are cls") as caught:
        list(loader(tasks.Failing("refuse"), workers=workers).batches(0))
    assert caught.value.exit_code == ExitCode.DATA


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_the_task_keeps_its_kind_place_and_sample(workers, tasks, loader):
    with pytest.raises(KeyError) as caught:
        list(loader(tasks.Failing("raise"), workers=workers).batches(0))
    told = caught.value.__notes__[-1]
    assert "while reading sample 000007 of " in told
    frames = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert tasks.__file__ in (told if workers else frames)


def test_an_error_that_cannot_be_sent_is_told_in_words(tasks, loader):
    with pytest.raises(RuntimeError, match="UnsendableError: 1 and 2"):
        list(loader(tasks.Failing("unsendable")).batches(0))


def test_a_task_that_cannot_be_sent_is_refused_with_what_to_do(tasks, loader):
    task = tasks.Failing(lambda: None)
    with pytest.raises(StepError, match=r"cannot be sent to loader workers: .*use no loader workers") as caught:
        next(loader(task).batches(0))
    assert caught.value.exit_code == ExitCode.CODE


def test_what_is_not_asked_for_any_more_is_stopped(tasks, loader):
    for workers in (0, 2):
        batches = loader(tasks.Drawing(), workers=workers).batches(0)
        next(batches)
        batches.close()


@pytest.mark.parametrize("ending", ["kill", "raise"])
def test_no_process_is_left_however_the_rank_ends(ending, split, tmp_path, tasks):
    program = tmp_path / "rank.py"
    program.write_text(RANK.format(tasks=os.path.dirname(tasks.__file__), folder=str(split(6, 6))))  # noqa: PTH120
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as rank:
        pids = json.loads(rank.stdout.readline())
        children = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
        assert len(children) >= 3
        if ending == "kill":
            rank.kill()
        else:
            rank.stdin.write("\n")
            rank.stdin.flush()
        rank.wait(30)
        _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive
