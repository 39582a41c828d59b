"""Whatever a store does, no blob has other bytes than its name says; what can be had is kept, what cannot is named."""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import Terminated
from argosy.steps.stage import clients, loop
from argosy.steps.stage.pace import MIB, Pace
from argosy.steps.stage.parts import PART_BYTES

FETCHER = Path(__file__).with_name("fetcher.py")
MOST_MEMORY = 400e6


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "shares", [{"slow-down": 0.2}, {"cut": 0.2}, {"wrong": 0.1}, {"truncated": 0.1}, {"slow-down": 0.2, "cut": 0.1}]
)
def test_a_store_that_fails_often_gives_everything_in_the_end(bucket, content, shares):
    sizes = [2000] * 150 + [2 * PART_BYTES] * 3
    files = {str(number): content(size) for number, size in enumerate(sizes)}
    bucket.fill(files)
    entries = bucket.entries()
    bucket.set(shares=shares, seed=7)
    bucket.fetch(entries=entries)
    assert bucket.staged() == set(files)
    assert bucket.counters()["faults"].keys() == shares.keys()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("size", [1000, 3 * PART_BYTES])
@pytest.mark.parametrize("kind", ["wrong", "truncated", "cut"])
def test_bytes_that_are_wrong_once_are_fetched_again(bucket, content, kind, size):
    bucket.fill({"a": content(size), "b": content(size)})
    entries = bucket.entries()
    bucket.set(kinds={"a": kind}, times=1)
    bucket.fetch(entries=entries)
    assert bucket.staged() == {"a", "b"}


@pytest.mark.parametrize("size", [1000, 3 * PART_BYTES])
@pytest.mark.parametrize("kind", ["wrong", "truncated"])
def test_bytes_that_stay_wrong_are_named_with_place_and_remedy_and_the_others_are_kept(bucket, content, kind, size):
    bucket.fill({"good": content(size), "x/bad": content(size), "also good": content(10)})
    entries = bucket.entries()
    bucket.set(kinds={"x/bad": kind})
    message = bucket.refusal(ExitCode.DATA, lambda: bucket.fetch(entries=entries))
    md5 = bucket.dataset.objects["x/bad"]
    assert f"x/bad ({md5})" in message
    assert f"{bucket.remote.url}/files/md5/{md5[:2]}/{md5[2:]}" in message
    assert "dvc push" in message
    assert bucket.staged() == {"good", "also good"}


def test_objects_damaged_in_a_folder_are_named(folder, content):
    folder.fill({"good": content(100), "empty": content(100), "short": content(3 * PART_BYTES), "other": content(9)})
    folder.object("empty").write_bytes(b"")
    os.truncate(folder.object("short"), 2 * PART_BYTES)
    folder.object("other").write_bytes(content(9))
    message = folder.refusal(ExitCode.DATA)
    assert all(f"{path} (" in message for path in ("empty", "short", "other"))
    assert folder.staged() == {"good"}


def test_everything_that_is_missing_is_listed_and_the_rest_is_fetched(world, content, capsys):
    files = {f"{number:03}": content(50) for number in range(300)}
    world.fill(files)
    entries = world.entries()
    gone = [f"{number:03}" for number in range(0, 300, 10)]
    for path in gone:
        world.object(path).unlink()
    message = world.refusal(ExitCode.DATA, lambda: world.fetch(entries=entries))
    assert "lacks 000 (" in message
    assert "and 20 more" in message
    assert "dvc push" in message
    told = capsys.readouterr().err
    assert all(world.dataset.objects[path] in told for path in gone)
    assert world.staged() == set(files) - set(gone)


def test_what_was_mended_is_all_that_the_next_fetch_asks_for(bucket, content):
    bucket.fill({"a": content(10), "b": content(10)})
    entries = bucket.entries()
    kept = bucket.object("b").read_bytes()
    bucket.object("b").unlink()
    bucket.refusal(ExitCode.DATA, lambda: bucket.fetch(entries=entries))
    bucket.object("b").write_bytes(kept)
    bucket.count_anew()
    missing = set(bucket.blobs.missing(entry.md5 for entry in entries))
    bucket.fetch(entries=[entry for entry in entries if entry.md5 in missing])
    assert set(bucket.counters()["reads"]) == {bucket.key("b")}


def test_an_object_that_is_denied_may_be_missing_and_is_listed_like_one(bucket, content):
    bucket.fill({"a": content(10), "b": content(10)})
    entries = bucket.entries()
    bucket.set(kinds={"b": "forbidden"})
    message = bucket.refusal(ExitCode.DATA, lambda: bucket.fetch(entries=entries))
    assert "denies b (" in message
    assert bucket.staged() == {"a"}


def test_a_store_that_denies_everything_is_a_matter_of_configuration(bucket, content):
    bucket.fill({"a": content(10), "b": content(10)})
    entries = bucket.entries()
    bucket.set(kinds={"a": "forbidden", "b": "forbidden"})
    message = bucket.refusal(ExitCode.CONFIGURATION, lambda: bucket.fetch(entries=entries))
    assert "give AWS_ACCESS_KEY_ID" in message


def test_a_clock_that_differs_from_the_stores_is_a_matter_of_configuration(bucket, content):
    bucket.fill({"a": content(10)})
    entries = bucket.entries()
    bucket.set(kinds={"a": "skewed"})
    assert "clock" in bucket.refusal(ExitCode.CONFIGURATION, lambda: bucket.fetch(entries=entries))


@pytest.mark.usefixtures("hurried")
def test_a_server_that_stalls_is_given_up_and_asked_again(bucket, content, monkeypatch):
    monkeypatch.setattr(clients, "STALL_SECONDS", 0.3)
    bucket.fill({"a": content(10), "large": content(3 * PART_BYTES)})
    entries = bucket.entries()
    bucket.set(kinds={"a": "stall", "large": "stall"}, times=2)
    began = time.monotonic()
    bucket.fetch(entries=entries)
    assert bucket.staged() == {"a", "large"}
    assert time.monotonic() - began < 5


@pytest.mark.usefixtures("hurried")
def test_a_store_that_stays_busy_is_a_temporary_failure(bucket, content):
    bucket.fill({"a": content(10)})
    entries = bucket.entries()
    bucket.set(kinds={"a": "slow-down"})
    message = bucket.refusal(ExitCode.TEMPORARY, lambda: bucket.fetch(entries=entries))
    assert message == "DVC remote store: does not answer: it answers 503 SlowDown"


def test_fewer_requests_are_in_flight_once_the_store_says_slow_down(bucket, content):
    bucket.fill({str(number): content(100) for number in range(400)})
    entries = bucket.entries()
    bucket.set(most_at_a_time=4, latency_ms=5)
    pace = Pace(connections=64)
    bucket.fetch(pace, entries=entries)
    assert len(bucket.staged()) == 400
    refused = bucket.counters()["faults"]["slow-down"]
    assert refused < 400, "at 64 requests in flight most of them are refused"


def fetching(bucket, **pace):
    words = [sys.executable, FETCHER, bucket.remote.url, bucket.dataset.hash, bucket.cache, json.dumps(pace)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_fetch_that_is_killed_again_and_again_goes_on_where_it_was(bucket, content):
    size, count, window = 32 * MIB, 3, 8 * MIB
    bucket.fill({str(number): content(size) for number in range(count)})
    chance, kills = random.Random(5), 0
    bucket.count_anew()
    while True:
        began = bucket.counters()["bytes"]
        enough = began + chance.randrange(10 * MIB, 30 * MIB)
        with fetching(bucket, connections=8, bytes_in_flight=window, bytes_per_second=100 * MIB) as process:
            while process.poll() is None and bucket.counters()["bytes"] < enough:
                time.sleep(0.01)
            process.kill()
            process.communicate()
        if process.returncode == 0:
            break
        kills += 1
        assert kills < 20, "nothing is kept from one fetch to the next"
        assert bucket.wrong_blobs() == []
    assert kills >= 3
    assert len(bucket.staged()) == count
    again = bucket.counters()["bytes"] - size * count
    assert again < (kills + 1) * (window + 8 * Pace(connections=8).first_bytes)


def test_sigterm_ends_a_loop_while_a_callback_runs():
    def terminate(*_):
        raise Terminated

    async def main():
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
        await asyncio.sleep(30)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with pytest.raises(Terminated):
            loop.run(main())
        assert signal.getsignal(signal.SIGTERM) is terminate
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("reads", [5, 200, 1000])
def test_a_fetch_is_ended_by_sigterm_whatever_it_does_just_then(bucket, content, reads):
    bucket.fill({str(number): content(1000) for number in range(3000)} | {"large": content(64 * MIB)})
    bucket.count_anew()
    with fetching(bucket, bytes_per_second=200 * MIB) as process:
        while process.poll() is None and bucket.counters()["requests"] < reads:
            time.sleep(0.005)
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert process.returncode == 143, err
    assert err == ""


def test_memory_has_a_bound_that_no_dataset_moves(bucket, content):
    files = {str(number): content(1000) for number in range(1000)}
    files |= {f"large {number}": bytes([number]) * (150 * MIB) for number in range(4)}
    bucket.fill(files)
    with fetching(bucket, connections=64) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["memory"] < MOST_MEMORY


@pytest.mark.parametrize("size", [3 * MIB, 30_000])
def test_a_full_disk_is_a_matter_of_configuration_and_leaves_nothing_half_made(bucket, content, tmp_path, size):
    if shutil.which("unshare") is None:
        pytest.skip("a full disk was not tested: there is no unshare command")
    disk = tmp_path / "disk"
    disk.mkdir()
    bucket.fill({str(number): content(size) for number in range(9 * MIB // size)})
    words = [sys.executable, FETCHER, bucket.remote.url, bucket.dataset.hash, disk / "cache", "{}"]
    look = 'find "$0" -name "*.part"; find "$0/cache/blobs" -type f -exec md5sum {} +'
    script = f'mount -t tmpfs -o size=6m disk "$0" || exit 99; "$@"; code=$?; {look}; exit $code'
    unshare = ["unshare", "--mount", "--user", "--map-root-user"] if os.geteuid() else ["unshare", "--mount"]
    done = subprocess.run([*unshare, "sh", "-c", script, disk, *words], capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"a full disk was not tested: {done.stderr}")
    assert done.stderr.startswith(f"{int(ExitCode.CONFIGURATION)} "), done.stderr
    assert "the disk is full" in done.stderr
    assert ".part" not in done.stdout
    blobs = [line.split() for line in done.stdout.splitlines()]
    assert all(path.replace("/", "").endswith(md5) for md5, path in blobs)
    assert blobs or size > MIB
