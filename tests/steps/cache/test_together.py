"""Pods that stage at a time, and pods that are killed while they do."""

import fcntl
import hashlib
import multiprocessing
import os
import random
import runpy
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from argosy.steps.cache import locks
from argosy.steps.cache.node_cache import NodeCache

pod = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("stager.py"))))
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")


def is_root_on_linux():
    return sys.platform == "linux" and os.geteuid() == 0


def every_published_file_is_right(root):
    """All blobs have their md5 for a name, and all views hold exactly their files."""
    for folder in (root / "blobs").iterdir():
        for blob in folder.iterdir():
            assert hashlib.md5(blob.read_bytes()).hexdigest() == folder.name + blob.name
    for view in (root / "datasets").iterdir():
        if not view.name.startswith("."):
            made = pod.contents(view.name, int(view.name.partition("-")[0]))
            read = {
                str(path.relative_to(view / "data")): path.read_bytes()
                for path in (view / "data").rglob("*")
                if path.is_file()
            }
            assert read == made, view


@pytest.mark.parametrize("count", [2, 8])
@pytest.mark.parametrize("around", [(), NAMESPACES], ids=["processes", "pods"])
def test_pods_that_want_the_same_at_once_fetch_it_once(count, around, node, stager, tmp_path):
    if around and not is_root_on_linux():
        pytest.skip("namespaces need Linux and root")
    log = tmp_path / "log"
    pods = [stager(node.root, "200-x", 200, log, around=around) for _ in range(count)]
    for process in pods:
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
    fetched = log.read_text().split()
    assert len(fetched) == len(set(fetched)) == 201
    every_published_file_is_right(node.root)
    assert node.leftovers() == []


def test_pods_without_locks_that_want_the_same_at_once_both_succeed(node, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    made = pod.contents("5-x", 5)
    other = NodeCache(node.root)
    with node.cache.staging("5-x"), other.staging("5-x"):
        for cache in (node.cache, other):
            pod.fetch(cache, made, lambda _: None)
            node.publish("5-x", made, cache)
    every_published_file_is_right(node.root)


def test_without_locks_two_that_write_the_same_large_blob_do_not_share_a_file(node, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with node.cache.blobs.partial("0" * 32) as one, node.cache.blobs.partial("0" * 32) as other:
        assert one != other


@pytest.mark.parametrize("refusal", [None, OSError(95, "Operation not supported")])
def test_a_file_system_without_locks_is_found_out_and_told(refusal, node, monkeypatch, capsys):
    def flock(*_):
        if refusal:
            raise refusal

    monkeypatch.setattr(fcntl, "flock", flock)
    node.stage()
    assert "locks do not work there" in capsys.readouterr().err
    assert node.cache.found("k")
    assert node.leftovers() == []


def test_a_file_system_with_locks_is_known_by_a_second_file_that_is_kept_out(tmp_path, capsys, node):
    assert locks.work(tmp_path)
    assert list(tmp_path.iterdir()) == []
    node.stage()
    assert capsys.readouterr().err == ""


def test_whoever_tries_locks_out_meets_no_sweeper(node, monkeypatch):
    """A sweeper that locks another's probe would make it think that there are no locks."""
    node.begin()
    probe = node.root / "locks/.partial-0"
    probe.touch()
    taken = locks.is_taken
    seen = []
    monkeypatch.setattr(locks, "is_taken", lambda one: seen.append(os.fstat(one).st_ino) or taken(one))
    node.begin()
    assert probe.stat().st_ino not in seen
    os.utime(probe, (0, 0))
    node.begin()
    assert not probe.exists()


def test_who_waits_says_for_whom(node, stager, tmp_path):
    with node.cache.staging("3-x"):
        process = stager(node.root, "3-x", 3, tmp_path / "log")
        assert process.stderr.readline() == f"waits for {os.uname().nodename}, which stages the same data\n"
    assert process.wait(timeout=30) == 0
    process.communicate()


HOLDS = """
import sys
from pathlib import Path
from argosy.steps.cache import locks
with locks.exclusive(Path(sys.argv[1]), "holds"):
    print("held", flush=True)
    input()
"""


def test_who_has_waited_for_a_lock_holds_the_one_that_others_see(tmp_path):
    path = tmp_path / "lock"
    with locks.exclusive(path, "holds"):
        command = [sys.executable, "-c", HOLDS, path]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr.readline().startswith("waits for ")
    assert process.stdout.readline() == "held\n"
    assert locks.is_held(path)
    process.communicate("\n")
    assert not path.exists()


def test_a_large_blob_is_written_by_one_at_a_time_who_goes_on_with_what_is_there(node, stager, tmp_path):
    large = pod.contents("0-x", 0)["large.bin"]
    md5 = hashlib.md5(large).hexdigest()
    node.begin()
    with node.cache.blobs.partial(md5) as path:
        path.write_bytes(large[:1000])
        process = stager(node.root, "0-x", 0, tmp_path / "log")
        assert process.stderr.readline() == "waits\n"
        path.write_bytes(large)
        node.cache.blobs.adopt(md5, path)
    process.communicate(timeout=30)
    assert (tmp_path / "log").read_text() == ""
    other = "1" * 32
    with node.cache.blobs.partial(other) as path:
        path.write_bytes(b"begun")
    with NodeCache(node.root).blobs.partial(other) as path:
        assert path.read_bytes() == b"begun"


# ---------------------------------------------------------------------------------------------- kills


def stages_on_and_on(root, begun):
    """Four versions in turn, of which each is thrown away before it is staged again."""
    cache = NodeCache(root)
    begun.set()
    for turn in range(10_000):
        key = f"{turn % 4 + 3}-{turn % 2}"
        pod.stage(cache, key, pod.contents(key, int(key[0]), large=1 << 17), lambda _: None)
        view = root / "datasets" / key
        view.chmod(0o755)
        view.rename(root / "trash" / f"{os.getpid()}-{turn}")


def test_whatever_the_moment_of_a_kill_nothing_wrong_is_published_and_the_next_attempt_finishes(node):
    fork = multiprocessing.get_context("fork")
    chance = random.Random(5)
    for _ in range(100):
        begun = fork.Event()
        process = fork.Process(target=stages_on_and_on, args=(node.root, begun))
        process.start()
        begun.wait()
        time.sleep(chance.uniform(0, 0.1))  # the moment is what this test varies
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        if (node.root / "datasets").exists():
            pod_contents_are_right(node.root)
    pod.stage(node.cache, "9-x", pod.contents("9-x", 9), lambda _: None)
    every_view = node.root / "datasets/9-x/data"
    assert (every_view / "large.bin").stat().st_size == pod.LARGE
    assert [path for path in (node.root / "partial").iterdir() if path.suffix != ".part"] == []
    assert list((node.root / "trash").iterdir()) == []


def pod_contents_are_right(root):
    for folder in (root / "blobs").iterdir():
        for blob in folder.iterdir():
            assert hashlib.md5(blob.read_bytes()).hexdigest() == folder.name + blob.name
    cache = NodeCache(root)
    for view in (root / "datasets").iterdir():
        if view.name.startswith(".partial-"):  # of one that tried whether it may write there
            assert list(view.iterdir()) == []
            continue
        assert cache.found(view.name)
        made = pod.contents(view.name, int(view.name[0]), large=1 << 17)
        for path, content in made.items():
            assert (view / "data" / path).read_bytes() == content


@pytest.mark.parametrize("name", ["", "datasets", "blobs", "locks", "partial", "trash"])
def test_what_a_killed_one_left_of_trying_its_rights_is_removed_in_the_end(name, node):
    node.begin()
    probe = node.root / name / ".partial-0"
    probe.mkdir()
    os.utime(probe, (0, 0))
    node.stage()
    assert not probe.exists()
    assert node.cache.found("k")


def test_a_stage_killed_in_the_middle_leaves_a_folder_that_the_next_removes_but_not_a_living_ones(
    node, stager, tmp_path
):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = stager(node.root, "x", 3000, fifo)
    with fifo.open() as log:
        for _ in range(3):  # at least one small object is there by now; the large one has a partial blob instead
            log.readline()
        alive = NodeCache(node.root).blobs.workplace.new().parent
        process.kill()
        process.communicate()
    dead = [path for path in (node.root / "partial").iterdir() if path != alive and path.suffix != ".part"]
    assert dead
    enter = node.cache.staging("other")
    with enter:
        assert not any(path.exists() for path in dead)
        assert alive.exists()


def test_nobody_works_in_a_folder_that_a_sweeper_has_just_taken(node, monkeypatch):
    """Between the making of the folder and its lock another stage takes it for a leftover, and then removes it."""
    node.begin()
    make, sweepers = Path.mkdir, []

    def made_and_taken(self, *words, **named):
        make(self, *words, **named)
        if self.parent.name == "partial" and not sweepers:
            lock = os.open(self, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            sweepers.append(threading.Timer(0.2, lambda: (self.rename(node.root / "trash/swept"), os.close(lock))))
            sweepers[0].start()

    monkeypatch.setattr(Path, "mkdir", made_and_taken)
    node.cache.blobs.add(hashlib.md5(b"x").hexdigest(), b"x")
    sweepers[0].join()
    assert node.blob(b"x").read_bytes() == b"x"
    assert locks.is_held(node.cache.blobs.workplace.new().parent)
    node.cache.blobs.close()


@pytest.mark.parametrize(("hours", "stays"), [(2, True), (25, False)])
def test_where_no_locks_work_what_somebody_may_still_write_is_kept_for_a_day(hours, stays, node, monkeypatch):
    node.begin()
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    folder = NodeCache(node.root).blobs.workplace.new().parent
    os.utime(folder, (time.time() - 3600 * hours,) * 2)
    with node.cache.staging("k"):
        assert folder.exists() == stays


@pytest.mark.parametrize(("hours", "stays"), [(1, True), (23, True), (25, False)])
def test_the_beginning_of_a_large_blob_is_kept_for_a_day(hours, stays, node):
    node.begin()
    with node.cache.blobs.partial("1" * 32) as part:
        journal = part.with_suffix(".journal")
        for path in (part, journal):
            path.write_text("begun")
            os.utime(path, (time.time() - 3600 * hours,) * 2)
    with node.cache.staging("k"):
        assert part.exists() == journal.exists() == stays


def test_the_beginning_of_a_large_blob_that_someone_writes_is_not_swept(node):
    node.begin()
    with node.cache.blobs.partial("1" * 32) as part, NodeCache(node.root).staging("k"):
        part.write_text("begun")
        os.utime(part, (0, 0))
        with NodeCache(node.root).staging("other"):
            assert part.exists()


def test_a_program_started_by_a_trainer_does_not_keep_its_lease(node):
    node.stage()
    with node.cache.held("k"):
        child = subprocess.Popen(["sleep", "60"])
    assert not locks.is_held(node.view() / "version.json")
    child.kill()
    child.wait()
