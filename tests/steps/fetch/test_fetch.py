"""Fetching: everything that is wanted is there afterwards, whatever its size, and no more is asked for than that."""

import hashlib
import itertools
import time

import pytest
import xxhash

from argosy.steps.stage.growing import BLOCK
from argosy.steps.stage.pace import MIB, Pace
from argosy.steps.stage.parts import PART_BYTES

FIRST = Pace().first_bytes
SIZES = [0, 1, 20_000, 300_000, FIRST - 1, FIRST, FIRST + 1, PART_BYTES, PART_BYTES + BLOCK + 1, 3 * PART_BYTES + 7]


def test_objects_of_every_size_become_blobs_with_both_hashes(world, content):
    files = {f"{size}.bin": content(size) for size in SIZES}
    world.fill(files)
    fetched = world.fetch()
    assert fetched.bytes == sum(SIZES)
    for path, one in files.items():
        md5 = world.dataset.objects[path]
        assert world.blobs.path(md5).read_bytes() == one, path
        assert fetched.xxh3[md5] == xxhash.xxh3_128_hexdigest(one)


def test_each_object_is_asked_for_once_however_many_files_hold_it_and_an_empty_one_never(bucket):
    bucket.fill({"a": b"same", "b/a": b"same", "c": b"other", "empty": b""})
    entries = bucket.entries()
    bucket.count_anew()
    bucket.fetch(entries=entries)
    assert sorted(bucket.counters()["reads"]) == sorted({bucket.key("a"), bucket.key("c")})
    assert bucket.counters()["requests"] == 2
    assert bucket.staged() == {"a", "b/a", "c", "empty"}


def test_progress_counts_up_to_all_files_and_bytes(world, content):
    sizes = [10, 2000, FIRST + 5, PART_BYTES * 2]
    world.fill({str(size): content(size) for size in sizes})
    told = []
    world.fetch(report=lambda files, size: told.append((files, size)))
    assert told[-1] == (len(sizes), sum(sizes))
    assert all(before <= after for before, after in itertools.pairwise(told))


def test_no_more_requests_are_in_flight_than_there_may_be_connections(bucket, content):
    bucket.fill({str(number): content(1000) for number in range(60)} | {"large": content(30 * MIB)})
    bucket.set(latency_ms=5)
    bucket.fetch(Pace(connections=7))
    assert bucket.counters()["peak_in_flight"] == 7


def test_small_objects_keep_all_connections_busy_behind_a_slow_answer(bucket, content):
    bucket.fill({str(number): content(1000) for number in range(200)})
    entries = bucket.entries()
    bucket.set(latency_ms=20)
    bucket.count_anew()
    bucket.fetch(Pace(connections=64), entries=entries)
    assert bucket.counters()["peak_in_flight"] == 64


def test_the_parts_of_one_large_object_come_in_parallel(bucket, content):
    bucket.fill({"large": content(10 * PART_BYTES)})
    bucket.set(latency_ms=20)
    bucket.fetch()
    assert bucket.counters()["peak_in_flight"] >= 8


@pytest.mark.parametrize("count", [40, 2])
def test_no_more_bytes_come_in_a_second_than_may(bucket, content, count):
    total, limit = 4 * MIB, 4 * MIB
    bucket.fill({str(number): content(total // count) for number in range(count)})
    began = time.monotonic()
    bucket.fetch(Pace(bytes_per_second=limit))
    assert 0.7 < time.monotonic() - began < 2


def test_a_large_blob_that_another_stage_has_brought_meanwhile_is_not_fetched_again(bucket, content):
    one = content(3 * PART_BYTES)
    bucket.fill({"large": one})
    entries = bucket.entries()
    bucket.blobs.add(hashlib.md5(one).hexdigest(), one)
    bucket.count_anew()
    bucket.fetch(entries=entries)
    assert bucket.counters()["bytes"] <= FIRST
