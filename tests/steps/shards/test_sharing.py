"""The ranks of a node make one index of a split, and read it from the same memory."""

import fcntl
import io
import multiprocessing
import pickle
import signal
import tarfile
from types import SimpleNamespace

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.shards import sharing
from argosy.steps.shards.dataset import Dataset
from argosy.steps.shards.indexing import index
from argosy.steps.shards.sharing import shared
from argosy.steps.train.session import Session

RANKS = 4


@pytest.fixture
def data(tmp_path):
    """Two shards of samples of several members, one of whose extensions only some have."""
    folder = tmp_path / "data"
    folder.mkdir()
    for shard in range(2):
        with tarfile.open(folder / f"train-{shard}.tar", "w") as archive:
            for number in range(shard * 5, shard * 5 + 5):
                for extension in ("cls", "seg.PNG")[: 1 + number % 2]:
                    member = tarfile.TarInfo(f"é/{number}.{extension}")
                    content = f"{extension} of {number}".encode()
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
    return folder


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "attempt"
    folder.mkdir()
    return folder


def samples(dataset):
    return dataset.samples(range(len(dataset)))


def once(data, folder, made):
    """What a rank does; `made` is given when it makes an index. A number of samples."""

    def counted(*words):
        made.release()
        return index(*words)

    sharing.index = counted
    return len(shared(data, "train", folder))


def killed(data, folder):
    """A rank that is killed while it writes the index."""
    Dataset.write = lambda *_: signal.raise_signal(signal.SIGKILL)
    shared(data, "train", folder)


@pytest.fixture
def processes():
    return multiprocessing.get_context("fork")


def test_what_is_shared_is_what_was_indexed(data, place):
    wanted = samples(index(data, "train"))
    assert [sample.key for sample in wanted] == [f"é/{number}" for number in range(10)]
    for _ in range(2):
        assert samples(shared(data, "train", place)) == wanted


def test_ranks_that_begin_together_make_one_index(data, place, processes):
    made = processes.Semaphore(0)
    ranks = [processes.Process(target=once, args=(data, place, made)) for _ in range(RANKS)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(60)
    assert [rank.exitcode for rank in ranks] == [0] * RANKS
    assert made.acquire(block=False)
    assert not made.acquire(block=False)


def test_a_rank_waits_for_the_one_that_makes_the_index(data, place, processes):
    made = processes.Semaphore(0)
    rank = processes.Process(target=once, args=(data, place, made))
    with (place / "index-train.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rank.start()
        assert not made.acquire(timeout=1)
        fcntl.flock(lock, fcntl.LOCK_UN)  # closing it leaves it locked: the forked rank has the file open, too
    assert made.acquire(timeout=60)
    rank.join(60)
    assert rank.exitcode == 0


def test_a_rank_that_is_killed_while_it_makes_the_index_leaves_nothing_that_counts(data, place, processes):
    rank = processes.Process(target=killed, args=(data, place))
    rank.start()
    rank.join(60)
    assert rank.exitcode == -signal.SIGKILL
    assert len(shared(data, "train", place)) == 10


def test_a_loader_worker_is_sent_the_place_and_not_the_index(data, place):
    whole = shared(data, "train", place)
    sent = pickle.dumps(whole)
    assert len(sent) < 500
    assert samples(pickle.loads(sent)) == samples(whole)


def test_the_ranks_of_a_supervised_training_share_in_the_attempts_folder(data, place):
    session = SimpleNamespace(data=data, _around=SimpleNamespace(attempt=SimpleNamespace(folder=place)))
    shared(data, "train", place)
    for shard in data.iterdir():
        shard.write_bytes(b"")
    assert len(Session.dataset(session, "train")) == 10  # another rank's index, not one of what is there now


def test_splits_do_not_mix_and_unsound_shards_are_refused_each_time(data, place):
    shared(data, "train", place)
    (data / "validation-0.tar").touch()
    for _ in range(2):
        with pytest.raises(StepError, match=r"validation-0.tar: has 0 bytes") as caught:
            shared(data, "validation", place)
        assert caught.value.exit_code == ExitCode.DATA


def test_an_index_that_cannot_be_kept_is_an_accident_of_the_machine(data, tmp_path):
    with pytest.raises(StepError, match="gone/index-train: an index cannot be kept: No such file") as caught:
        shared(data, "train", tmp_path / "gone")
    assert caught.value.exit_code == ExitCode.TEMPORARY
