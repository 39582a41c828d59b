"""Caches of other users, on mounts that may only be read, and after an unclean end of the machine."""

import errno
import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from argosy.steps.cache import boot, rights
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.space import Limit
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError

BECOMES_NOBODY = """
import os
from argosy.steps.cache import node_cache, version  # which another user may not be able to read
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
"""

ASKS = """
import sys
from pathlib import Path
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.errors import StepError
cache = NodeCache(Path(sys.argv[1]), node_folder="/mnt/nvme")
def answer(call):
    try:
        print(call())
    except StepError as error:
        print(int(error.exit_code), error.message)
def hold():
    with cache.held("k") as data:
        return sorted(path.name for path in data.iterdir())
def stage():
    with cache.staging("other"):
        return "staged"
answer(lambda: cache.found("k").files)
answer(hold)
answer(lambda: cache.found("other"))
answer(stage)
"""

STAGES_AND_EVICTS = """
import hashlib, os, sys
from pathlib import Path
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.faults import Damaged
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.space import Limit
from argosy.steps.cache.version import Version
root = Path(sys.argv[1])
cache = NodeCache(root, limit=Limit(bytes=8192))
md5 = hashlib.md5(b"content").hexdigest()
version = Version(dataset="d", dataset_hash=md5, revision="")
with cache.staging("k"):
    cache.blobs.add(md5, b"content")
    cache.publish("k", version, [Entry("a/b/c", md5), Entry("a/d", md5)], {})
print(cache.found("k").files)
path = root / "datasets/k/data/a/d"
path.chmod(0o644)
path.write_bytes(b"CONTENT")
path.parent.chmod(0o755)
(path.parent / "more").touch()
path.parent.chmod(0o555)
try:
    cache.found("k")
except Damaged as damaged:
    with cache.staging("k"):
        cache.lacking(damaged.faults)
        cache.blobs.add(md5, b"content")
        cache.repair("k", damaged.faults)
print(cache.found("k").files, (root / "datasets/k/data/a/b/c").read_text())
os.utime(path)
cache.found("k")
os.utime(root / "datasets/k/version.json", (0, 0))
cache.make_room(8192, 1)
print(list((root / "datasets").iterdir()), list(root.glob("blobs/*/*")), list((root / "trash").iterdir()))
"""


@pytest.fixture
def open_folder():
    """A folder that every user may enter, as pytest's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def as_nobody(python):
    """Runs a program as a user without rights."""
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")

    def run(code, *words):
        exit_code, printed, said = python(f"{BECOMES_NOBODY}{code}", *words)
        assert exit_code == 0, said
        return printed.splitlines()

    return run


def test_another_users_cache_can_be_read_and_held_and_staging_says_which_right_is_missing(node, open_folder, as_nobody):
    node = type(node)(open_folder / "cache")
    node.stage()
    node.used("k", hours_ago=1)
    found, held, absent, staged = as_nobody(ASKS, node.root)
    assert (found, absent) == ("4", "None")
    assert held == "['empty', 'labels.csv', 'train']"
    assert staged.startswith(f"78 {node.root / 'datasets'}: user 65534, group 65534 lacks the right to write: it is ")
    assert "install -d -o 65534 -g 65534 /mnt/nvme/datasets`" in staged


def test_a_user_without_rights_stages_mends_and_evicts_in_a_cache_of_its_own(open_folder, as_nobody):
    root = open_folder / "cache"
    root.mkdir()
    os.chown(root, 65534, 65534)
    assert as_nobody(STAGES_AND_EVICTS, root) == ["2", "2 content", "[] [] []"]


def test_a_cache_that_is_mounted_read_only_can_be_read_and_held_and_staging_says_so(node, python):
    node.stage()
    os.utime(node.data() / "labels.csv")
    before = (node.view() / "version.json").stat().st_mtime_ns
    mounts = f"mount --bind {node.root} {node.root}\nmount -o remount,bind,ro {node.root}"
    exit_code, printed, said = python(ASKS, node.root, mounts=mounts)
    assert (exit_code, said) == (0, "")
    found, held, absent, staged = printed.splitlines()
    assert (found, held, absent) == ("4", "['empty', 'labels.csv', 'train']", "None")
    assert staged == f"78 {node.root / 'datasets'}: is mounted read-only; mount the cache for writing"
    assert (node.view() / "version.json").stat().st_mtime_ns == before


def test_a_lease_on_a_read_only_mount_keeps_the_evictor_out(node, tmp_path, stager):
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting needs Linux and root")
    node.stage()
    mounts = tmp_path / "mounts.sh"
    mounts.write_text(f'set -e\nmount --bind -o ro {node.root} {node.root}\nexec "$@"\n')
    code = f"""
from pathlib import Path
from argosy.steps.cache.node_cache import NodeCache
with NodeCache(Path({str(node.root)!r})).held("k"):
    print("held", flush=True)
    input()
"""
    around = ("unshare", "--mount", "sh", mounts, sys.executable, "-c", code)
    with stager(around=around, stdin=-1) as pod:
        assert pod.stdout.readline() == "held\n"
        node.used("k", hours_ago=9)
        small = NodeCache(node.root, limit=Limit(bytes=4096))
        with pytest.raises(StepError):
            small.make_room(4096, 1)
        assert node.views() == {"k"}
        pod.communicate("\n")
    node.used("k", hours_ago=9)
    small.make_room(4096, 1)
    assert node.views() == set()


# ---------------------------------------------------------------------------------------------- the machine's boot


@pytest.fixture
def rebooted(node):
    """A cache with a view, a blob that no view holds and a large one's beginning, written before the last boot."""
    node.stage()
    node.add({"a": b"on its way"})
    with node.cache.blobs.partial("1" * 32) as part:
        part.write_text("begun")
    (node.root / "boot").write_text("another boot")
    return node


def test_after_an_unclean_boot_only_what_was_surely_on_the_disk_stays(rebooted):
    with rebooted.cache.staging("other"):
        assert not rebooted.blob(b"on its way").exists()
        assert [path.name for path in (rebooted.root / "partial").iterdir() if path.suffix] == []
        assert rebooted.cache.found("k")
        assert rebooted.blob(b"zero").exists()


def test_within_a_boot_everything_stays(rebooted):
    (rebooted.root / "boot").write_text(boot.identity())
    with rebooted.cache.staging("other"):
        assert rebooted.blob(b"on its way").exists()
        assert (rebooted.root / "partial" / f"{'1' * 32}.part").exists()


def test_it_is_forgotten_once_in_each_boot(rebooted):
    with rebooted.cache.staging("other"):
        rebooted.add({"a": b"on its way"})
        with NodeCache(rebooted.root).staging("third"):
            assert rebooted.blob(b"on its way").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells it in a file")
def test_a_boot_has_one_identity():
    assert boot.identity() == boot.identity() != ""


# ---------------------------------------------------------------------------------------------- rights


def refusal(node, **named):
    with pytest.raises(StepError) as caught, NodeCache(node.root, **named).staging("k"):
        pass
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    return caught.value.message


@pytest.mark.parametrize(
    ("node_folder", "remedy"),
    [
        ("/mnt/nvme", "run `install -d -o {user} -g {group} /mnt/nvme` on the node, or apply the DaemonSet"),
        ("", "give its volume to group {group}"),
    ],
)
def test_a_cache_that_may_not_be_written_is_told_with_the_missing_right_and_the_remedy(
    node_folder, remedy, node, monkeypatch
):
    node.root.mkdir(mode=0o755)

    def refuses(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(rights.Path, "mkdir", refuses)  # nothing is refused to root, which tests may be
    message = refusal(node, node_folder=node_folder)
    user, group = os.geteuid(), os.getegid()
    assert message.startswith(f"{node.root}: user {user}, group {group} lacks the right to write: it is drwxr-xr-x of")
    assert remedy.format(user=user, group=group) in message


def test_the_remedy_names_the_folder_that_lacks_the_right_and_not_the_one_above(node, monkeypatch):
    make = rights.Path.mkdir

    def refuses(self, *words, **named):
        if self.name.startswith(".partial-"):
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        make(self, *words, **named)

    monkeypatch.setattr(rights.Path, "mkdir", refuses)
    message = refusal(node, node_folder="/mnt/nvme")
    assert f"install -d -o {os.geteuid()} -g {os.getegid()} /mnt/nvme/datasets`" in message


def test_a_probe_that_another_pod_sweeps_away_is_no_fault(node, monkeypatch):
    remove = rights.Path.rmdir
    monkeypatch.setattr(rights.Path, "rmdir", lambda self: (remove(self), remove(self)))
    node.stage()
    assert stat.S_IMODE(node.view().stat().st_mode) == 0o555
