"""A view is what was staged, complete and read-only, or it is told what is wrong with it."""

import errno
import os
import stat
import time

import pytest

from argosy.steps.cache import building, contents, durability, hashing, index
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.faults import Damaged, Gone
from argosy.steps.cache.version import Version
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError

MD5_OF_CONTENT = "9a0364b9e99bb480dd25e1f0284c8555"
VERSION = Version(dataset="d", dataset_hash="0" * 32, revision="")


def refusal(exit_code, call, *words):
    with pytest.raises(StepError) as caught:
        call(*words)
    assert caught.value.exit_code == exit_code, caught.value.message
    assert "\n" not in caught.value.message
    return caught.value.message


def hold(node, key="k"):
    with node.cache.held(key) as data:
        return data


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_view_is_what_was_staged_read_only_and_says_what_it_is(node):
    from_publish = node.stage()
    assert node.read() == {"train/0.tar": b"zero", "train/1.tar": b"one" * 100, "labels.csv": b"a,b\n", "empty": b""}
    assert from_publish == node.cache.found("k")
    assert (from_publish.key, from_publish.files, from_publish.bytes) == ("k", 4, 308)
    assert (from_publish.dataset, from_publish.revision) == ("data/x", "c0ffee")
    folders = [node.view(), node.data(), node.data() / "train"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o555}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(node.data())} == {0o444}
    assert node.leftovers() == []


@pytest.mark.usefixtures("umask")
def test_other_users_may_read_a_view_whatever_the_umask(node):
    node.stage()
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(node.data())} == {0o444}


@pytest.fixture
def umask():
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_where_nothing_was_staged_nothing_is_found_and_nothing_is_made(node):
    assert node.cache.found("k") is None
    assert "is not staged on this node" in refusal(ExitCode.CONFIGURATION, hold, node)
    assert not node.root.exists()


def test_files_are_shared_by_the_views_that_have_them(node):
    node.stage("one", {"a": b"same"})
    node.stage("two", {"b": b"same"})
    assert (node.data("one") / "a").samefile(node.data("two") / "b")


def test_of_an_untouched_view_nothing_is_read_but_the_status_of_its_files(node, monkeypatch):
    node.stage()
    monkeypatch.setattr(index, "read", lambda path: pytest.fail(f"{path} was read"))
    monkeypatch.setattr(hashing, "_hashed", lambda path, _: pytest.fail(f"{path} was read"))
    assert node.cache.found("k")


def test_finding_many_files_costs_little_more_than_their_status(node):
    node.stage(contents={f"{number % 20}/{number:06}.jpg": b"" for number in range(20_000)})

    def bare():
        for folder in os.scandir(node.data()):
            for entry in os.scandir(folder):
                entry.stat(follow_symlinks=False)

    def seconds(call):
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    floor = min(seconds(bare) for _ in range(5))
    assert min(seconds(lambda: node.cache.found("k")) for _ in range(5)) < 3 * floor


def overwritten(path):
    """A byte changed in place: the size stays."""
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.write(b"\x7f")


def replaced_with_the_same_time(path):
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"x" * before.st_size)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def as_a_folder(path):
    path.unlink()
    path.mkdir()
    (path / "inside").touch()


def parent_as_a_link(path):
    elsewhere = path.parent.with_name("elsewhere")
    path.parent.rename(elsewhere)
    path.parent.symlink_to(elsewhere)


DAMAGES = [
    (lambda path: path.unlink(), ["train/0.tar is missing"]),
    (lambda path: os.truncate(path, 1), ["train/0.tar has other bytes"]),
    (overwritten, ["train/0.tar has other bytes"]),
    (replaced_with_the_same_time, ["train/0.tar has other bytes"]),
    (lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")), ["train/0.tar has other bytes"]),
    (lambda path: path.with_name("9.tar").touch(), ["train/9.tar was not staged"]),
    (as_a_folder, ["train/0.tar is missing", "train/0.tar/inside was not staged"]),
    (parent_as_a_link, ["train was not staged", "train/0.tar is missing", "elsewhere/1.tar was not staged"]),
]


@pytest.fixture
def writable(node):
    """A view whose folders can be written, as root can in any case."""
    node.stage()
    for path in (node.view(), node.data(), node.data() / "train"):
        path.chmod(0o755)
    return node


@pytest.mark.parametrize(("damage", "words"), DAMAGES)
def test_what_is_not_as_it_was_staged_is_named_with_the_remedy(damage, words, writable):
    damage(writable.data() / "train/0.tar")
    for call in (lambda: writable.cache.found("k"), lambda: hold(writable)):
        message = refusal(ExitCode.DATA, call)
        assert message.startswith(f"{writable.data()}: ")
        assert all(word in message for word in words)
        assert message.endswith("; stage it again: what is damaged is then replaced")


@pytest.mark.parametrize("damage", [damage for damage, _ in DAMAGES])
def test_a_damaged_view_is_repaired_file_by_file(damage, writable):
    before = writable.read()
    untouched = (writable.data() / "labels.csv").stat().st_ino
    damage(writable.data() / "train/0.tar")
    with pytest.raises(Damaged) as caught:
        writable.cache.found("k")
    with writable.cache.staging("k"):
        assert set(writable.cache.lacking(caught.value.faults)) <= {fault.md5 for fault in caught.value.faults}
        writable.add({"train/0.tar": b"zero"})
        writable.cache.repair("k", caught.value.faults)
    assert writable.cache.found("k")
    assert writable.read() == before
    assert (writable.data() / "labels.csv").stat().st_ino == untouched
    assert {stat.S_IMODE(path.stat().st_mode) for path in (writable.data(), writable.data() / "train")} == {0o555}


def test_a_file_that_its_disk_cannot_read_any_more_has_other_bytes(node, monkeypatch):
    node.stage()
    bad = node.data() / "train/0.tar"
    os.utime(bad)
    opens = type(bad).open

    class BadSector:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def readinto(self, _):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(type(bad), "open", lambda self, *a, **k: BadSector() if self == bad else opens(self, *a, **k))
    with pytest.raises(Damaged, match=r"train/0\.tar has other bytes"):
        node.cache.found("k")


def test_a_damaged_blob_leaves_the_cache_and_a_repair_without_it_says_what_to_fetch(writable):
    overwritten(writable.data() / "train/0.tar")
    with pytest.raises(Damaged) as caught:
        writable.cache.found("k")
    with writable.cache.staging("k"):
        (md5,) = writable.cache.lacking(caught.value.faults)
        with pytest.raises(Gone) as gone:
            writable.cache.repair("k", caught.value.faults)
    assert gone.value.md5s == (md5,)
    assert (writable.data() / "train/0.tar").read_bytes() == b"\x7fero"


def test_a_blob_that_was_written_to_is_published_in_no_other_view(node):
    node.stage("one", {"a": b"content"})
    overwritten(node.blob(b"content"))
    assert node.cache.blobs.missing([MD5_OF_CONTENT]) == [MD5_OF_CONTENT]
    node.stage("two", {"b": b"content"})
    assert node.read("two") == {"b": b"content"}


def test_a_blob_that_is_written_to_while_a_view_is_built_is_not_published(node, monkeypatch):
    link = building.link

    def and_written_to(source, target):
        done = link(source, target)
        overwritten(node.blob(b"content"))
        return done

    with node.cache.staging("k"):
        node.add({"a": b"content"})
        monkeypatch.setattr(building, "link", and_written_to)
        with pytest.raises(Gone):
            node.cache.publish("k", VERSION, [Entry("a", MD5_OF_CONTENT)], {})
    assert node.views() == set()
    assert not node.blob(b"content").exists()


def test_a_file_that_only_looks_changed_is_read_once_and_found_whole(node, monkeypatch):
    node.stage()
    os.utime(node.data() / "train/0.tar")
    assert node.cache.found("k")
    monkeypatch.setattr(hashing, "_hashed", lambda path, _: pytest.fail(f"{path} was read"))
    assert node.cache.found("k")


def test_a_file_is_compared_by_xxh3_where_that_is_known_by_this_view_or_another(node, monkeypatch):
    content = b"content"
    md5 = MD5_OF_CONTENT
    with node.cache.staging("one"):
        node.add({"a": content})
        node.cache.publish("one", VERSION, [Entry("a", md5)], {md5: hashing.xxh3(node.blob(content))})
    with node.cache.staging("two"):
        node.cache.publish("two", VERSION, [Entry("b", md5)], {})
    os.utime(node.blob(content))
    monkeypatch.setattr(hashing, "md5", lambda path: pytest.fail(f"the md5 of {path} was taken"))
    assert node.cache.found("two")


@pytest.mark.parametrize("name", ["version.json", "index.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[[1]]", b"\xff"])
def test_a_view_whose_own_files_cannot_be_read_is_told_with_file_and_remedy(name, content, node):
    node.stage()
    node.view().chmod(0o755)
    (node.view() / name).write_bytes(content)
    os.utime(node.data() / "labels.csv")
    message = refusal(ExitCode.DATA, node.cache.found, "k")
    assert message.startswith(f"{node.view() / name}: ")
    assert message.endswith("stage its data again: the version is then replaced")


def test_another_layout_than_this_one_is_refused_naming_the_file(node):
    node.stage()
    (node.root / "format").write_text("argosy cache 3\n")
    for call in (lambda: node.cache.found("k"), lambda: hold(node), node.begin):
        message = refusal(ExitCode.CONFIGURATION, call)
        assert message.startswith(f"{node.root / 'format'}: says 'argosy cache 3' and not 'argosy cache 2'")


@pytest.mark.parametrize("name", ["trash/mine", "partial/mine", "datasets/mine/version.json", "blobs/mine"])
def test_a_folder_with_files_of_others_is_not_made_a_cache(name, node):
    mine = node.root / name
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    message = refusal(ExitCode.CONFIGURATION, node.begin)
    assert message.startswith(str(node.root / "/".join(name.split("/")[:2])))
    assert mine.read_text() == "precious"
    assert not (node.root / "format").exists()


def test_a_blob_has_more_names_than_an_inode_can(node):
    count = 65_010
    version = node.stage(contents={f"{number}": b"x" for number in range(count)})
    assert version.files == version.bytes == count
    inodes = {entry.stat().st_ino for entry in os.scandir(node.data())}
    assert 1 <= len(inodes) <= 2
    node.stage("again", {"a": b"x"})
    assert node.read("again") == {"a": b"x"}


@pytest.mark.parametrize("refused", [errno.EPERM, errno.EXDEV, errno.ENOTSUP])
def test_where_there_can_be_no_links_views_are_copies(refused, node, monkeypatch):
    def refuses(source, target):
        raise OSError(refused, os.strerror(refused), source, None, target)

    monkeypatch.setattr(os, "link", refuses)
    node.stage(contents={"a": b"content"})
    assert node.read() == {"a": b"content"}
    assert not (node.data() / "a").samefile(node.blob(b"content"))
    assert node.cache.found("k")


def test_the_second_to_publish_takes_the_first_ones_view(node):
    with node.cache.staging("k"):
        first = node.publish("k", {"a": b"first"})
        assert node.publish("k", {"a": b"second"}) == first
    assert node.read() == {"a": b"first"}


def test_a_folder_that_is_no_view_makes_way(node):
    node.begin()
    node.data().mkdir(parents=True)
    (node.data() / "a").touch()
    node.stage(contents={"a": b"content"})
    assert node.read() == {"a": b"content"}


def test_names_that_are_no_utf8_and_names_with_newlines_are_files_too(node):
    names = {os.fsdecode(b"caf\xe9"): b"1", "a\nb": b"2", "cafe\u0301": b"3"}
    node.stage(contents=names)
    assert node.read() == names
    assert node.cache.found("k")


def test_two_files_that_change_places_are_noticed(node):
    node.stage(contents={"a": b"1", "b": b"2"})
    a, b, c = (node.data() / name for name in "abc")
    node.data().chmod(0o755)
    a.rename(c)
    b.rename(a)
    c.rename(b)
    with pytest.raises(Damaged) as caught:
        node.cache.found("k")
    assert [fault.path for fault in caught.value.faults] == ["a", "b"]


def test_a_fingerprint_tells_names_from_what_they_hold():
    lines = ["a\x001 2 3", "b\x004 5 6"]
    assert contents.fingerprint(lines) != contents.fingerprint(["b\x001 2 3", "a\x004 5 6"])


def test_everything_is_on_the_disk_before_a_view_has_its_name(node, monkeypatch):
    seen = []
    monkeypatch.setattr(durability, "sync", lambda _: seen.append(node.view().exists()))
    node.stage()
    assert seen == [False]


def test_everything_is_on_the_disk_before_a_file_is_replaced(writable, monkeypatch):
    overwritten(writable.data() / "labels.csv")
    with pytest.raises(Damaged) as caught:
        writable.cache.found("k")
    seen = []
    monkeypatch.setattr(durability, "sync", lambda _: seen.append((writable.data() / "labels.csv").read_bytes()))
    with writable.cache.staging("k"):
        writable.cache.lacking(caught.value.faults)
        writable.add({"labels.csv": b"a,b\n"})
        writable.cache.repair("k", caught.value.faults)
    assert seen == [b"\x7f,b\n"]
