"""Whatever a pod that stages waits for, SIGTERM ends it with 143, and nothing of it is left in the cache."""

import hashlib
import threading
import time

import pytest

from argosy.steps import pins
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.stage.growing import CHUNK_BYTES, Growing
from argosy.steps.stage.pace import MIB

GRACE_SECONDS = 10
"""Of the thirty that Kubernetes gives."""


@pytest.fixture
def ensure(bucket, start_step, tmp_path):
    """Starts the init container of a training pod."""

    def start():
        pin = bucket.pin().model_dump_json()
        return start_step("ensure", dataset_pin=pin, project=tmp_path, cache=bucket.cache, output=tmp_path / "output")

    return start


def ended(process):
    """What it says after SIGTERM."""
    process.terminate()
    try:
        _, told = process.communicate(timeout=GRACE_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 143, told
    return told


def leftovers(cache):
    return [path for name in ("partial", "trash", "locks", "datasets") for path in (cache / name).iterdir()]


def test_a_stage_that_fetches_is_ended(bucket, ensure, content):
    bucket.fill({str(number): content(1000) for number in range(300)})
    bucket.set(kinds={"7": "stall"}, latency_ms=20)
    bucket.count_anew()
    with ensure() as process:
        while bucket.counters()["requests"] < 100:
            time.sleep(0.01)
        assert ended(process).splitlines()[-1] == "stopped by SIGTERM"
    assert leftovers(bucket.cache) == []


def test_a_stage_that_waits_for_one_of_the_same_data_is_ended(bucket, ensure, content):
    bucket.fill({"a": content(10)})
    with NodeCache(bucket.cache).staging(pins.key(bucket.pin().hash)), ensure() as process:
        assert process.stderr.readline().endswith(", which stages the same data\n")
        assert ended(process) == "stopped by SIGTERM\n"
    assert leftovers(bucket.cache) == []


def test_a_stage_that_waits_for_another_that_fetches_the_same_large_object_is_ended(bucket, ensure, content):
    large = content(5 * MIB)
    bucket.fill({"large": large})
    cache = NodeCache(bucket.cache)
    with cache.staging("other"), cache.blobs.partial(hashlib.md5(large).hexdigest()) as path, ensure() as process:
        path.touch()
        assert process.stderr.readline().startswith("waits for another pod, which fetches ")
        assert ended(process) == "stopped by SIGTERM\n"
    path.unlink()
    assert leftovers(bucket.cache) == []


def test_the_beginning_of_a_large_object_is_not_read_to_its_end_when_its_fetch_ends(tmp_path, monkeypatch):
    """Which for 100 GB takes longer than a pod is given."""
    path, size = tmp_path / "part", 5 * CHUNK_BYTES
    path.write_bytes(bytes(size))
    hashed, begun, goes_on = Growing._hash, threading.Event(), threading.Event()

    def slowly(self, chunk):
        hashed(self, chunk)
        begun.set()
        goes_on.wait()

    monkeypatch.setattr(Growing, "_hash", slowly)
    with Growing(path) as file:
        reader = threading.Thread(target=file.resume, args=[size])
        reader.start()
        begun.wait()
        threading.Timer(0.2, goes_on.set).start()
    reader.join()
    assert file.bytes < size


def test_a_stage_that_waited_for_a_large_object_fetches_it_when_the_other_has_not(bucket, ensure, content):
    large = content(5 * MIB)
    bucket.fill({"large": large})
    cache = NodeCache(bucket.cache)
    with cache.staging("other"):
        with cache.blobs.partial(hashlib.md5(large).hexdigest()) as path:
            path.write_bytes(large[: 2 * MIB])
            process = ensure()
            assert process.stderr.readline().startswith("waits for another pod")
        with process:
            assert process.wait(timeout=60) == 0
    assert cache.found(pins.key(bucket.pin().hash)).bytes == len(large)
