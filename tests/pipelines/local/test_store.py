"""A run's state on disk: nothing lost, nothing half."""

import os
import subprocess
import sys

import pytest

from argosy.pipelines import status as s
from argosy.pipelines.local.store import DamagedError, Home
from argosy.pipelines.local.tree import Tree
from argosy.pipelines.names import fnv1a, pod_name
from argosy.pipelines.status import Status

WORKFLOW = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w"}, "spec": {}}


@pytest.fixture
def folder(tmp_path):
    folder = Home(tmp_path).run("w")
    folder.create("kind: Workflow\n", WORKFLOW)
    return folder


def grown(folder):
    """A small tree, recorded in the journal."""
    journal = folder.journal()
    tree = Tree("w", Status(phase=s.RUNNING), journal)
    root = tree.add("w", s.DAG, s.RUNNING, boundary=None)
    child = tree.add("w.a", s.POD, s.PENDING, boundary=root, template="a")
    tree.connect(root, "w.a")
    tree.mark(child, s.SUCCEEDED)
    tree.save_status()
    return tree, journal


def test_what_is_read_back_is_what_was_recorded(folder):
    tree, _ = grown(folder)
    assert folder.status(WORKFLOW) == tree.status


def test_a_line_cut_by_a_kill_is_left_out(folder):
    tree, _ = grown(folder)
    with (folder.path / "journal.jsonl").open("ab") as file:
        file.write(b'{"node": {"id": "w-1", "na')
    assert folder.status(WORKFLOW) == tree.status


def test_folding_keeps_the_state_and_empties_the_journal(folder):
    tree, _ = grown(folder)
    folder.fold(WORKFLOW, tree.status)
    assert not (folder.path / "journal.jsonl").exists()
    assert folder.workflow()["status"]["nodes"]["w"]["children"] == [f"w-{fnv1a('w.a')}"]


def test_one_runner_at_a_time(folder):
    attempt = (
        "import sys, pathlib; from argosy.pipelines.local.store import RunFolder;"
        "print(RunFolder(pathlib.Path(sys.argv[1])).hold())"
    )
    with folder.hold():
        other = subprocess.run([sys.executable, "-c", attempt, folder.path], capture_output=True, text=True, check=True)
        assert other.stdout == "None\n"
        assert folder.runner() == os.getpid()
    assert folder.runner() is None


@pytest.mark.parametrize(
    ("text", "progress"),
    [("1/3", "1/3"), ("noise\n2/3\n", "2/3"), ("3/2", ""), ("0/0", ""), ("-1/2", ""), ("x", ""), ("", "")],
)
def test_progress_is_taken_only_where_argo_would_take_it(folder, text, progress):
    (folder.pods / "p").mkdir(parents=True)
    (folder.pods / "p" / "progress").write_text(text)
    assert folder.progress("p") == progress


def test_node_ids_are_argos():
    # hello-world.A of Argo's own test, workflow/util/pod_name_test.go: FNV-1a of the node's name
    assert fnv1a("") == 2166136261
    assert fnv1a("foobar") == 0xBF9CF968


def test_pod_names_are_argos():
    assert pod_name("run", "run", "main") == "run"
    assert pod_name("run", "run.a(0)", "work") == f"run-work-{fnv1a('run.a(0)')}"
    assert len(pod_name("run", "run.a", "x" * 300)) <= 253


def test_a_damaged_journal_is_named_with_its_line(folder):
    grown(folder)
    journal = folder.path / "journal.jsonl"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines[:1], "garbage", *lines[2:]]) + "\n")
    with pytest.raises(DamagedError, match=r"journal\.jsonl:2: damaged"):
        folder.workflow()
