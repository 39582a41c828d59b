"""`python -m argosy.steps.cache`: what is there, whether it is as it was staged, and room."""

import fcntl
import json
import os
import time

import pytest

from argosy.steps.cache.__main__ import main
from argosy.steps.cache.blobs import SEALED_NS
from argosy.steps.cache.faults import Damaged
from argosy.steps.contracts import ExitCode


@pytest.fixture
def admin(node, capsys):
    """Runs a command; its exit code, and what it printed as JSON."""

    def run(*words):
        code = main([*words, f"--cache={node.root}", "--json"])
        printed = capsys.readouterr().out
        return code, json.loads(printed) if printed else None

    return run


def flipped(path):
    """One bit, as a bad disk does it: neither size nor time change."""
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    os.utime(path, ns=(SEALED_NS, SEALED_NS))


def test_ls_tells_of_each_version_the_last_used_first(node, admin):
    node.stage("one")
    node.stage("two", {"a": b"x"})
    node.used("two", hours_ago=2)
    with node.cache.held("one"):
        _, (one, two) = admin("ls")
    assert (one["key"], one["files"], one["bytes"], one["is_held"]) == ("one", 4, 308, True)
    assert (two["key"], two["dataset"], two["files"], two["is_held"]) == ("two", "data/x", 1, False)
    assert one["used_at"] - two["used_at"] == pytest.approx(7200, abs=60)


def test_ls_for_a_person_is_a_table(node, capsys):
    node.stage()
    assert main(["ls", f"--cache={node.root}"]) == ExitCode.OK
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["VERSION", "DATASET", "FILES", "BYTES", "LAST", "USED"]
    assert line.split()[:4] == ["k", "data/x", "4", "308"]


@pytest.mark.parametrize("words", [["verify"], ["verify", "--md5"]])
def test_a_flipped_bit_is_found_by_reading_alone_and_named_in_every_version(words, node, admin):
    node.stage("one")
    node.stage("two", {"other": b"zero"})
    flipped(node.data("one") / "train/0.tar")
    assert node.cache.found("one")  # by its status it is as it was
    code, damages = admin(*words)
    assert code == ExitCode.DATA
    paths = [str(node.data("one") / "train/0.tar"), str(node.data("two") / "other")]
    assert [(one["path"], one["reason"]) for one in damages] == [(path, "has other bytes") for path in paths]


def test_what_verify_has_found_the_next_stage_replaces(node, admin):
    node.stage()
    flipped(node.data() / "train/0.tar")
    admin("verify")
    with pytest.raises(Damaged) as caught:
        node.cache.found("k")
    with node.cache.staging("k"):
        assert node.cache.lacking(caught.value.faults)
        node.add({"train/0.tar": b"zero"})
        node.cache.repair("k", caught.value.faults)
    assert admin("verify") == (ExitCode.OK, [])


def test_verify_names_what_is_missing_or_too_much_and_blobs_that_no_version_has(node, admin):
    node.stage()
    node.add({"alone": b"in no version"})
    flipped(node.blob(b"in no version"))
    (node.data() / "labels.csv").unlink()
    (node.data() / "more").touch()
    code, damages = admin("verify")
    assert code == ExitCode.DATA
    assert [(one["path"], one["reason"]) for one in damages] == [
        (str(node.blob(b"in no version")), "has other bytes"),
        (str(node.data() / "labels.csv"), "is missing"),
        (str(node.data() / "more"), "was not staged"),
    ]


def test_verify_of_a_whole_cache_reads_everything_and_says_how_far_it_is(node, capsys):
    node.stage()
    assert main(["verify", f"--cache={node.root}"]) == ExitCode.OK
    captured = capsys.readouterr()
    assert captured.out == "every file is as it was staged\n"
    assert captured.err.splitlines()[-1] == "read 0.0 of 0.0 MB"


def test_prune_removes_what_nobody_uses(node, admin):
    for key, hours in (("old", 5), ("newer", 2), ("recent", 0)):
        node.stage(key, {key: key.encode() * 5000})
        node.used(key, hours_ago=hours)
    code, told = admin("prune", "--to=30000000")
    assert (code, told["freed_files"], told["files"]) == (ExitCode.OK, 0, 3)
    assert admin("prune", "--to=70000")[1]["freed_files"] == 1
    assert node.views() == {"newer", "recent"}
    assert admin("prune", "--all-unused")[1]["files"] == 1
    assert node.views() == {"recent"}
    assert node.leftovers() == []


def test_prune_removes_what_a_stage_that_failed_has_left(node, admin):
    node.stage()
    node.cache.blobs.add("d3b07384d113edec49eaa6238ad5ff00", b"foo")
    node.cache.blobs.close()
    assert admin("prune", "--all-unused")[1]["freed_files"] == 1


@pytest.mark.parametrize("name", ["version.json", "index.json"])
@pytest.mark.parametrize("command", ["ls", "verify", "doctor"])
def test_a_view_with_a_folder_in_place_of_its_own_file_ends_no_command_in_a_traceback(name, command, node, admin):
    node.stage()
    node.view().chmod(0o755)
    (node.view() / name).unlink()
    (node.view() / name).mkdir()
    admin(command)


def test_prune_works_in_a_cache_that_has_lost_its_empty_folders(node, admin):
    node.stage()
    node.used("k", hours_ago=9)
    for name in ("locks", "partial", "trash"):
        (node.root / name).rmdir()
    assert admin("prune", "--all-unused")[0] == ExitCode.OK
    assert node.views() == set()


def test_prune_where_locks_do_not_work_removes_nothing(node, admin, monkeypatch):
    node.stage()
    node.used("k", hours_ago=9)
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    assert admin("prune", "--all-unused") == (ExitCode.CONFIGURATION, None)
    assert node.views() == {"k"}


def states(findings):
    return {one["question"]: one["state"] for one in findings}


def test_doctor_finds_nothing_wrong_with_a_sound_cache(node, admin):
    node.stage()
    code, findings = admin("doctor")
    assert code == ExitCode.OK
    assert states(findings).items() >= {"cache": "ok", "locks": "ok", "links": "ok", "versions": "ok"}.items()
    assert node.leftovers() == []


def test_doctor_says_what_is_wrong_and_what_to_do(node, admin, monkeypatch):
    node.stage()
    (node.data() / "labels.csv").unlink()
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    monkeypatch.setattr("os.link", lambda *_, **__: (_ for _ in ()).throw(PermissionError(1, "not permitted")))
    code, findings = admin("doctor")
    assert code == ExitCode.DATA
    assert states(findings).items() >= {"locks": "warning", "links": "warning"}.items()
    (damaged,) = [one["message"] for one in findings if one["state"] == "failed"]
    assert "labels.csv is missing; stage it again" in damaged


def test_doctor_tells_of_leftovers_and_of_another_boot(node, admin, monkeypatch):
    node.stage()
    node.add({"alone": b"in no version"})
    (node.root / "boot").write_text("another")
    later = time.time() + 2 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    _, findings = admin("doctor")
    messages = {one["question"]: one["message"] for one in findings}
    assert "1 files (0.0 MB) in no version" in messages["leftovers"]
    assert messages["boot"].startswith("nothing was staged since this machine's boot")


def test_another_layout_is_refused_by_all_and_doctor_tells_it(node, admin):
    node.stage()
    (node.root / "format").write_text("argosy cache 3\n")
    for words in (["ls"], ["verify"], ["prune", "--all-unused"]):
        assert admin(*words) == (ExitCode.CONFIGURATION, None)
    code, (finding,) = admin("doctor")
    assert (code, finding["state"]) == (ExitCode.DATA, "failed")


def test_a_folder_that_is_no_cache_is_refused(tmp_path, capsys):
    assert main(["ls", f"--cache={tmp_path}"]) == ExitCode.CONFIGURATION
    assert capsys.readouterr().err == f"{tmp_path}: is no cache of argosy's; name another folder\n"
