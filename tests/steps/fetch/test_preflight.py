"""When a run is submitted, what is missing is refused; where nobody can tell, that is said and nothing is refused."""

import time

import dvcremote
import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.stage import preflight


def check(world, **changed):
    return preflight.check(world.pin(**changed), world.project)


def test_a_remote_that_has_everything_leaves_nothing_to_say(world):
    world.fill({str(number): b"%d" % number for number in range(200)})
    assert check(world) == ""


def test_few_requests_suffice_for_many_files_and_no_object_is_fetched(bucket):
    bucket.fill({str(number): b"%d" % number * 1000 for number in range(1000)})
    bucket.count_anew()
    check(bucket)
    assert bucket.counters()["methods"]["GET"] == 1
    assert bucket.counters()["requests"] <= 1 + preflight.ASKED_AT_MOST


@pytest.mark.parametrize("count", [1, 5, 64])
def test_any_missing_object_of_few_is_found(world, count):
    world.fill({f"{number}.tar": b"%d" % number for number in range(count)})
    world.object("0.tar").unlink()
    assert "lacks 0.tar (" in world.refusal(ExitCode.DATA, lambda: check(world))


def test_a_push_that_was_cut_short_is_found_among_many_files(world):
    world.fill({f"{number:04}": b"%d" % number for number in range(1000)})
    for number in range(900, 1000):
        world.object(f"{number:04}").unlink()
    assert "dvc push" in world.refusal(ExitCode.DATA, lambda: check(world))


def test_a_list_never_pushed_is_refused(world):
    world.fill({"a": b"1"})
    dvcremote.place(world.folder, world.dataset.hash).unlink()
    assert world.dataset.hash in world.refusal(ExitCode.DATA, lambda: check(world))


def test_only_what_is_wanted_is_looked_for(world):
    world.fill({"a.tar": b"1", "b.tar": b"2"})
    world.object("b.tar").unlink()
    assert check(world, only=("a.*",)) == ""


def test_a_remote_that_cannot_be_asked_is_no_reason_to_refuse_and_takes_seconds(bucket, monkeypatch):
    bucket.fill({"a": b"1"})
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    began = time.monotonic()
    assert "does not answer" in check(bucket)
    assert time.monotonic() - began < 5


def test_credentials_that_are_missing_here_are_no_reason_to_refuse(bucket, monkeypatch):
    bucket.fill({"a": b"1"})
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    assert "there are no credentials for it" in check(bucket)
