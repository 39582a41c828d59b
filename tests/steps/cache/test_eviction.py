"""What makes way when there is no room, and what does not."""

import fcntl
import hashlib
import os
import time

import pytest

from argosy.steps.cache import eviction, space
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.faults import Gone
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.space import Disk, Limit, Space
from argosy.steps.cache.version import Version
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError

BLOCK = 4096
VERSION = Version(dataset="d", dataset_hash="0" * 32, revision="")


def md5_of(content):
    return hashlib.md5(content).hexdigest()


def content(key, blocks=2):
    return {key: key.encode().ljust(blocks * BLOCK, b".")}


def refusal(call, *words, **named):
    with pytest.raises(StepError) as caught:
        call(*words, **named)
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.fixture
def limited(node):
    """Three views of two blocks each, used five, three and two hours ago, in a cache that may hold seven blocks."""
    for key, hours in (("oldest", 5), ("middle", 3), ("newest", 2)):
        node.stage(key, content(key))
        node.used(key, hours_ago=hours)
    node.cache = NodeCache(node.root, limit=Limit(bytes=7 * BLOCK))
    return node


def room(node, blocks, **named):
    node.cache.make_room(blocks * BLOCK, 1, **named)


def test_what_has_room_evicts_nothing(limited):
    room(limited, 1)
    assert limited.views() == {"oldest", "middle", "newest"}


def test_what_was_used_least_recently_goes_first_and_no_more_than_needed(limited):
    room(limited, 2)
    assert limited.views() == {"middle", "newest"}
    assert not limited.blob(content("oldest")["oldest"]).exists()
    assert limited.read("middle") == content("middle")
    assert limited.leftovers() == []


def test_finding_a_view_is_a_use_of_it(limited):
    limited.cache.found("oldest")
    room(limited, 2)
    assert limited.views() == {"oldest", "newest"}


def test_a_tenth_of_the_limit_is_left_free_when_something_must_go(node):
    for number in range(10):
        node.stage(f"v{number}", content(f"v{number}", 10))
        node.used(f"v{number}", hours_ago=20 - number)
    node.cache = NodeCache(node.root, limit=Limit(bytes=100 * BLOCK))
    room(node, 1)
    assert node.views() == {f"v{number}" for number in range(2, 10)}


def test_the_limit_counts_files_too(limited):
    limited.cache = NodeCache(limited.root, limit=Limit(files=3))
    limited.cache.make_room(0, 1)
    assert limited.views() == {"newest"}


def test_what_is_held_is_never_evicted(limited):
    with NodeCache(limited.root).held("oldest"):
        limited.used("oldest", hours_ago=5)
        room(limited, 3)
        assert limited.views() == {"oldest"}
    refusal(room, limited, 6)
    limited.used("oldest", hours_ago=5)
    room(limited, 6)
    assert limited.views() == set()


def test_what_was_held_until_just_now_is_not_evicted_for_the_pod_that_comes_next(limited):
    with NodeCache(limited.root).held("oldest"):
        limited.used("oldest", hours_ago=9)
    room(limited, 2)
    assert limited.views() == {"oldest", "newest"}


def test_what_is_held_is_used_even_where_its_holder_may_not_say_so(limited):
    descriptor = os.open(limited.view("oldest") / "version.json", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    room(limited, 2)
    os.close(descriptor)
    room(limited, 4)
    assert limited.views() == {"oldest"}


def test_what_is_held_on_a_read_only_file_is_not_evicted_either(limited):
    descriptor = os.open(limited.view("oldest") / "version.json", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    room(limited, 2)
    assert "oldest" in limited.views()
    os.close(descriptor)


@pytest.mark.parametrize("hours_ago", [0.9, 0, -0.5])
def test_what_was_used_within_the_hour_is_not_evicted(hours_ago, limited):
    for key in limited.views():
        limited.used(key, hours_ago=hours_ago)
    message = refusal(room, limited, 2)
    assert "in use, or was within the hour" in message
    assert limited.views() == {"oldest", "middle", "newest"}


def test_a_clock_that_was_put_back_keeps_nothing_for_ever(limited):
    limited.used("oldest", hours_ago=-2000)
    room(limited, 2)
    assert limited.views() == {"oldest", "newest"}
    room(limited, 5)
    assert limited.views() == set()


def test_a_clock_that_jumps_ahead_evicts_nothing_that_is_held(limited, monkeypatch):
    now = time.time()
    monkeypatch.setattr(eviction.time, "time", lambda: now + 365 * 86_400)
    with NodeCache(limited.root).held("oldest"):
        room(limited, 4)
        assert limited.views() == {"oldest"}


def test_what_is_being_staged_is_not_evicted(limited):
    with NodeCache(limited.root).staging("oldest"):
        room(limited, 2)
        assert limited.views() == {"oldest", "newest"}


def test_a_file_that_another_view_has_too_stays(limited):
    limited.stage("sharer", {**content("oldest"), **content("more", 0)})
    room(limited, 3)
    assert limited.views() == {"sharer"}
    assert limited.blob(content("oldest")["oldest"]).exists()
    assert limited.cache.found("sharer")


def test_an_eviction_in_the_middle_of_a_stage_is_told_with_what_to_fetch_again(limited):
    """The stage counts on a blob of a view that is then evicted."""
    other = NodeCache(limited.root)
    wanted = {**content("oldest"), **content("fresh", 0)}
    with other.staging("k"):
        limited.add(wanted, other)
        room(limited, 2)
        with pytest.raises(Gone) as caught:
            other.publish("k", VERSION, [Entry(path, md5_of(one)) for path, one in wanted.items()], {})
        assert [limited.cache.blobs.path(md5) for md5 in caught.value.md5s] == [limited.blob(wanted["oldest"])]
        limited.publish("k", wanted, other)
    assert limited.read("k") == wanted


def test_blobs_that_are_to_be_kept_stay(limited):
    kept = content("oldest")["oldest"]
    room(limited, 2, keep=[md5_of(kept)])
    assert "oldest" not in limited.views()
    assert limited.blob(kept).exists()


def test_more_than_the_limit_is_refused_before_anything_is_evicted_with_all_numbers(limited):
    message = refusal(room, limited, 8)
    assert message.startswith(f"{limited.root}: needs 32,768 bytes and 1 files; its disk has ")
    assert "its limit is 28,672 bytes" in message
    assert limited.views() == {"oldest", "middle", "newest"}


def test_one_byte_more_than_fits_is_refused_and_one_less_is_not(limited):
    with NodeCache(limited.root).held("oldest"), NodeCache(limited.root).held("middle"):
        for key in ("oldest", "middle"):
            limited.used(key, hours_ago=9)
        refusal(limited.cache.make_room, 3 * BLOCK + 1, 1)
        limited.cache.make_room(3 * BLOCK, 1)


@pytest.fixture
def hundred_blocks(limited, monkeypatch):
    """The cache's disk has a hundred blocks, of which six are free."""

    def disk(root):
        used = sum(blob.stat().st_blocks * 512 for blob in (root / "blobs").glob("*/*"))
        return Disk(Space(100 * BLOCK, 1000), Space(12 * BLOCK - used, 1000))

    monkeypatch.setattr(Disk, "of", disk)
    limited.cache = NodeCache(limited.root)
    return limited


def test_a_twentieth_of_the_disk_stays_free(hundred_blocks):
    hundred_blocks.cache.make_room(BLOCK, 1)
    assert hundred_blocks.views() == {"oldest", "middle", "newest"}
    hundred_blocks.cache.make_room(BLOCK + 1, 1)
    assert hundred_blocks.views() == {"middle", "newest"}


def test_a_disk_that_is_too_full_is_told_with_what_is_free_and_what_stays_so(hundred_blocks):
    for key in hundred_blocks.views():
        hundred_blocks.used(key, hours_ago=0)
    message = refusal(hundred_blocks.cache.make_room, BLOCK + 1, 1)
    assert "24,576 bytes and 1,000 files free, of which 20,480 bytes and 50 files stay so" in message


def test_of_a_large_disk_ten_gib_stay_free():
    assert Disk(Space(10**14, 10**9), Space()).reserve == Space(space.RESERVED_AT_MOST, 5 * 10**7)


def test_where_no_locks_work_nothing_is_evicted_and_that_is_told(limited, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    room(limited, 1)
    assert "no locks work there" in refusal(room, limited, 2)
    assert limited.views() == {"oldest", "middle", "newest"}


def aged(path, hours):
    """Time of a file's last link: nothing but the machine's clock can set it."""
    return path.lstat().st_ctime + hours * 3600


def test_blobs_of_a_stage_that_never_ended_go_before_any_view(limited):
    limited.add(content("lost", 3))
    lost = limited.blob(content("lost", 3)["lost"])
    limited.cache.blobs.close()
    limited.cache = NodeCache(limited.root, limit=Limit(bytes=8 * BLOCK))
    room(limited, 1)
    assert not lost.exists()
    assert limited.views() == {"oldest", "middle", "newest"}


def test_blobs_on_their_way_into_a_view_of_another_stage_stay_however_old(limited, monkeypatch):
    with NodeCache(limited.root).staging("slow"):
        limited.add(content("fetched", 1))
        fetched = limited.blob(content("fetched", 1)["fetched"])
        later = aged(fetched, 2)
        monkeypatch.setattr(eviction.time, "time", lambda: later)
        with limited.cache.staging("k"):
            room(limited, 4)
        assert fetched.exists()


def test_a_stage_that_makes_room_for_itself_takes_what_nobody_works_on(limited, monkeypatch):
    limited.add(content("lost", 1))
    lost = limited.blob(content("lost", 1)["lost"])
    later = aged(lost, 2)
    monkeypatch.setattr(eviction.time, "time", lambda: later)
    with limited.cache.staging("k"):
        room(limited, 1)
    assert not lost.exists()


def test_a_lease_taken_just_before_the_eviction_is_seen_by_it_and_one_taken_after_sees_it(limited, monkeypatch):
    """The guard takes the lock first and looks for the view then."""
    shared = eviction.locks.fcntl.flock

    def evicts_first(descriptor, kind):
        if kind == fcntl.LOCK_SH:
            monkeypatch.setattr(fcntl, "flock", shared)
            room(limited, 2)
        return shared(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", evicts_first)
    cache = NodeCache(limited.root)
    with pytest.raises(StepError, match="is not staged on this node"), cache.held("oldest"):
        pass
    assert "oldest" not in limited.views()


# ---------------------------------------------------------------------------------------------- a small, real disk

DISK = """
truncate -s 32M {image}
mkfs.ext4 -q -m 0 {image}
mkdir -p {disk}
mount -o loop {image} {disk}
"""

FILLS_THE_DISK = """
import hashlib, os, sys
from pathlib import Path
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.errors import StepError
root = Path(sys.argv[1]) / "cache"
cache = NodeCache(root)
try:
    with cache.staging("k"):
        for number in range(100):
            block = os.urandom(1 << 20)
            cache.blobs.add(hashlib.md5(block).hexdigest(), block)
except StepError as error:
    print(int(error.exit_code), error.message)
print(*(str(path) for name in ("partial", "datasets", "locks") for path in (root / name).iterdir()))
wrong = [p for p in root.glob("blobs/*/*") if hashlib.md5(p.read_bytes()).hexdigest() != p.parent.name + p.name]
print(wrong, len(list(root.glob("blobs/*/*"))) > 10)
"""


@pytest.fixture
def small_disk(tmp_path):
    """Shell lines that mount a disk of 32 MiB, and where."""
    disk = tmp_path / "disk"
    return DISK.format(image=tmp_path / "image", disk=disk), disk


def test_a_full_disk_ends_a_stage_with_nothing_published_and_nothing_half_made(small_disk, python):
    mounts, disk = small_disk
    exit_code, printed, said = python(FILLS_THE_DISK, disk, mounts=mounts)
    assert (exit_code, said) == (0, "")
    first, leftovers, wrong = printed.split("\n")
    assert first.startswith(f"78 {disk}/cache: its disk is full: ")
    assert leftovers == ""
    assert wrong == "[] True"


EVICTS_ON_THE_DISK = """
import hashlib, os, sys
from pathlib import Path
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version
root = Path(sys.argv[1]) / "cache"
for number in range(12):
    block = os.urandom(5 << 20)
    md5 = hashlib.md5(block).hexdigest()
    cache = NodeCache(root)
    with cache.staging(f"v{number}"):
        cache.make_room(len(block), 1)
        cache.blobs.add(md5, block)
        version = Version(dataset="d", dataset_hash=md5, revision="")
        cache.publish(f"v{number}", version, [Entry("block", md5)], {})
    status = os.statvfs(root)
    assert status.f_bavail * status.f_frsize > 1 << 20
    os.utime(root / f"datasets/v{number}/version.json", (number, number))
print(*sorted(path.name for path in (root / "datasets").iterdir()))
"""


def test_on_a_small_disk_new_versions_take_the_place_of_old_ones(small_disk, python):
    mounts, disk = small_disk
    exit_code, printed, said = python(EVICTS_ON_THE_DISK, disk, mounts=mounts)
    assert (exit_code, said) == (0, "")
    assert printed.split()[0] != "v0"
    assert "v11" in printed.split()


def test_a_full_disk_can_still_be_evicted_from(small_disk, python):
    """Nothing that a stage does before it makes room needs any."""
    mounts, disk = small_disk
    code = EVICTS_ON_THE_DISK.replace(
        "    cache = NodeCache(root)\n", f"    cache = NodeCache(root)\n{FILLED_BY_ANOTHER}"
    )
    exit_code, printed, said = python(code, disk, mounts=mounts)
    assert (exit_code, said) == (0, "")
    assert "v11" in printed.split()


FILLED_BY_ANOTHER = """
    if number == 11:
        with open(sys.argv[1] + "/other", "wb", buffering=0) as other:
            try:
                while other.write(bytes(4096)):
                    pass
            except OSError:
                pass
        try:
            for count in range(100):
                os.mkdir(f"{sys.argv[1]}/other-{count}")
        except OSError:
            assert os.statvfs(root).f_bavail == 0
"""
