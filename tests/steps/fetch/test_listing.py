"""The list of a dataset's files: nothing that it says is believed before it is checked."""

import hashlib
import json
import time

import dvcremote
import pytest

from argosy.steps.cache.entry import Entry
from argosy.steps.contracts import ExitCode
from argosy.steps.stage import listing

MD5 = hashlib.md5(b"x").hexdigest()


@pytest.fixture
def listed(folder):
    """What is read from a list that the remote has."""

    def call(listing_text, **changed):
        folder.fill({"x": b"x"})
        md5 = dvcremote.add(folder.folder, listing_text, suffix=".dir")
        return folder.entries(**{"hash": f"{md5}.dir", "files": None, **changed})

    return call


def rows(*paths, md5=MD5):
    return json.dumps([{"md5": md5, "relpath": path} for path in paths]).encode()


PATHS = ["a", "b/c", "b/d e", "ü/+%[1]", "..a/b..", ".hidden", "line\nbreak", "back\\slash", "latin-\udce4"]


def test_paths_are_taken_byte_for_byte(listed):
    assert [entry.path for entry in listed(rows(*PATHS))] == PATHS


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/x", "", ".", "..", "a//b", "a/./b", "a/", "a\0b", "a/..", "lone-\ud800"]
)
def test_a_path_that_leads_elsewhere_is_refused_by_its_name(folder, listed, path):
    message = folder.refusal(ExitCode.DATA, lambda: listed(rows("fine", path)))
    assert f"names {path!r}, which is no path inside it" in message


def test_a_path_that_stands_twice_is_refused(folder, listed):
    assert "names 'a/b' twice" in folder.refusal(ExitCode.DATA, lambda: listed(rows("a/b", "c", "a/b")))


@pytest.mark.parametrize("paths", [("a", "a/b"), ("a/b/c/d", "a/b"), ("x/a/b", "x/a-", "x/a")])
def test_a_file_that_is_also_a_folder_is_refused(folder, listed, paths):
    assert "as a file and as a folder" in folder.refusal(ExitCode.DATA, lambda: listed(rows(*paths)))


@pytest.mark.parametrize("md5", ["", MD5.upper(), MD5[:-1], f"../{MD5[3:]}", f"{MD5}.dir", f"{MD5}\n", 5, None])
def test_what_is_no_md5_is_refused(folder, listed, md5):
    assert "its list has " in folder.refusal(ExitCode.DATA, lambda: listed(rows("a", md5=md5)))


@pytest.mark.parametrize(
    "text", [b"{", b"5", b"[5]", b'["a"]', b'[{"md5": "x"}]', b"\xff", b"[" * 100_000, b"null"], ids=range(8)
)
def test_what_is_no_list_of_files_is_refused(folder, listed, text):
    assert "is no list of files" in folder.refusal(ExitCode.DATA, lambda: listed(text))


@pytest.mark.parametrize("path", [5, None, ["a"]])
def test_a_path_that_is_no_text_is_refused(folder, listed, path):
    assert "something else than texts" in folder.refusal(ExitCode.DATA, lambda: listed(rows("a", path)))


def test_another_number_of_files_than_dvcs_file_says_is_refused(folder, listed):
    message = folder.refusal(ExitCode.DATA, lambda: listed(rows("a", "b"), files=3))
    assert "has 2 files and not 3" in message


def test_a_list_whose_bytes_are_not_its_hash_is_refused_and_not_read(world):
    world.fill({"a": b"1"})
    dvcremote.place(world.folder, world.dataset.hash).write_bytes(rows("b"))
    message = world.refusal(ExitCode.DATA, world.entries)
    assert world.dataset.hash in message
    assert "dvc push" in message


def test_a_list_that_was_never_pushed_is_missing_and_not_empty(world):
    world.fill({"a": b"1"})
    dvcremote.place(world.folder, world.dataset.hash).unlink()
    message = world.refusal(ExitCode.DATA, world.entries)
    assert f"lacks data/set ({world.dataset.hash}); run `dvc push` where the data is" in message


def test_a_list_that_may_not_be_read_is_a_matter_of_configuration(bucket):
    bucket.fill({"a": b"1"})
    place = dvcremote.place(bucket.folder, bucket.dataset.hash).relative_to(bucket.folder.parents[2])
    bucket._serving.set(objects={str(place): {"kind": "forbidden"}})
    message = bucket.refusal(ExitCode.CONFIGURATION, bucket.entries)
    assert "may not be read: it answers 403 AccessDenied; give AWS_ACCESS_KEY_ID" in message


def test_a_single_file_is_a_dataset_of_one(folder):
    folder.fill({"x": b"x"})
    assert folder.entries(path="data/one.tar", hash=MD5, files=1) == [Entry("one.tar", MD5)]


def test_names_that_differ_in_case_alone_are_refused_where_they_would_be_one_file(folder, monkeypatch, tmp_path):
    folder.fill({"Data/a": b"1", "data/a": b"2"})
    entries, source = folder.entries(), folder.source()
    listing.refuse_collisions(source, entries, tmp_path)
    monkeypatch.setattr(listing, "_folds_case", lambda _: True)
    message = folder.refusal(ExitCode.DATA, lambda: listing.refuse_collisions(source, entries, tmp_path))
    assert "'Data/a' and 'data/a' are one file on this file system" in message


def test_names_that_look_the_same_are_warned_of(folder):
    folder.fill({"caf\u00e9": b"1", "cafe\u0301": b"2", "other": b"3"})
    (warning,) = listing.warnings(folder.source(), folder.entries())
    assert "look the same" in warning


def test_very_many_files_are_warned_of_with_what_they_cost_and_the_remedy(folder):
    entries = [Entry(str(number), MD5) for number in range(50_001)]
    folder.fill({"x": b"x"})
    (warning,) = listing.warnings(folder.source(), entries)
    assert "50,001 files" in warning
    assert "argosy data pack" in warning


def test_reading_and_checking_100_000_files_costs_a_few_times_what_their_json_does(folder):
    folder.fill({"x": b"x"})
    many = [{"md5": hashlib.md5(b"%d" % n).hexdigest(), "relpath": f"img/{n % 100}/{n:08}.jpg"} for n in range(100_000)]
    text, source = json.dumps(many).encode(), folder.source(files=100_000)
    ratios = [seconds(listing.parsed, source, text) / seconds(json.loads, text) for _ in range(5)]
    assert min(ratios) < 4


def seconds(call, *arguments):
    began = time.process_time()
    call(*arguments)
    return time.process_time() - began
