"""What a manifest names in the project is there, and nothing of the user's is imported to find out."""

import shutil
from pathlib import Path

import pytest

from argosy.pipelines import (
    Accuracy,
    CustomGate,
    Dataset,
    NotWorseThanChampion,
    Pipeline,
    Registry,
    Slices,
    Training,
)
from argosy.pipelines.checks.linter import argo_lint
from argosy.pipelines.checks.project import dataset_problems
from argosy.pipelines.checks.rules import check
from argosy.pipelines.local.store import Home

ROOT = Path(__file__).parents[2]
LOCK = """schema: '2.0'
stages:
  prepare:
    cmd: make
    outs:
    - path: data/digits
      hash: md5
      md5: 79201b5a2b83bf704d801556482e197a.dir
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dvc.lock").write_text(LOCK)
    package = tmp_path / "vision"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "tasks.py").write_text(
        "raise RuntimeError('imported')\nclass Digits: ...\nfrom elsewhere import Other\n"
    )
    (tmp_path / "elsewhere.py").touch()
    return tmp_path


def problems(project, dataset="data/digits", task="vision.tasks:Digits", gates=(), **training):
    pipeline = Pipeline(
        name="digits",
        dataset=dataset if isinstance(dataset, list) else Dataset(dataset),
        training=Training(task=task, **training),
        gates=[Accuracy(at_least=0.9), *gates],
        registry=Registry("digits"),
        image="i",
    )
    return [str(problem) for problem in check(pipeline.workflow(), project)]


@pytest.mark.parametrize("task", ["vision.tasks:Digits", "vision.tasks:Other", "argosy.steps.digits:Digits"])
def test_task_is_found_without_importing_it(project, task):
    assert problems(project, task=task) == []


SCORES = """
from torch import nn
from argosy.steps.digits import Digits
from vision.tasks import Digits as Plain
from vision.circle import Round
class Scores(Digits):
    def f1(self, outputs, targets):
        local = 1
class Twice(Scores):
    recall = Scores.f1
    def __init__(self):
        self.auc = lambda outputs, targets: 1.0
class Unreadable(nn.Module): ...
"""


@pytest.mark.parametrize(
    ("task", "metric", "words"),
    [
        ("Scores", "f1", ""),
        ("Scores", "f2", "has no method f2, the metric of f2-gate; write def f2(self, outputs, targets) there"),
        ("Scores", "local", "has no method local"),
        ("Twice", "f1", ""),
        ("Twice", "recall", ""),
        ("Twice", "auc", ""),
        ("Twice", "precision", "; write def precision(self, outputs, targets) there"),
        ("Plain", "f1", "vision.scores:Plain: has no method f1, the metric of f1-gate; write def f1"),
        ("Unreadable", "f1", ""),
        ("Round", "f1", ""),
    ],
)
def test_a_metric_that_the_task_lacks_is_told_where_the_class_can_be_read(project, task, metric, words):
    (project / "vision" / "scores.py").write_text(SCORES)
    (project / "vision" / "circle.py").write_text("from vision.scores import Round\n")
    gate = Accuracy(name=f"{metric}-gate", metric=metric, at_least=0.5)
    told = problems(project, task=f"vision.scores:{task}", gates=[gate])
    assert len(told) == bool(words), told
    assert words in "".join(told)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (Slices(by="ward", at_least=0.5), "has no method labels, which tells slices-gate the ward of a sample; write"),
        (NotWorseThanChampion(margin=0.1, cluster="patient"), "tells champion-gate the patient of a sample"),
        (Slices(by="ward", cluster="patient", at_least=0.5), "the patient and the ward of a sample"),
    ],
)
def test_labels_that_the_task_does_not_tell_are_told(project, gate, words):
    (told,) = problems(project, gates=[gate])
    assert words in told
    tasks = project / "vision" / "tasks.py"
    tasks.write_text(
        tasks.read_text().replace("class Digits: ...", "class Digits:\n    def labels(self, members): ...")
    )
    assert problems(project, gates=[gate]) == []


def test_missing_module_is_told(project):
    assert problems(project, task="vision.task:Digits") == [
        f"vision.task:Digits: there is no module vision.task; write it into {project}, or install it"
    ]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("vision.gates:calibration", []),
        ("vision.gate:calibration", ["vision.gate:calibration: there is no module vision.gate; write it into "]),
        ("vision.gates:SIDE", ["vision.gates:SIDE: is no function; a gate is one that takes Judged"]),
        ("vision.gates:Gate", ["vision.gates:Gate: is no function; "]),
        ("vision.gates:made", []),
        ("vision.gates:calibrated", ["vision.gates:calibrated: ", "gates.py has no calibrated; did you mean calibrat"]),
    ],
)
def test_a_gate_of_ones_own_is_found_without_importing_it(project, function, message):
    lines = ("raise RuntimeError('imported')", "def calibration(judged): ...", "SIDE = 8", "class Gate: ...")
    (project / "vision" / "gates.py").write_text("\n".join([*lines, "made = calibration"]))
    found = problems(project, gates=[CustomGate(function=function, at_most=0.1)])
    assert len(found) == bool(message)
    assert all(part in problem for part in message for problem in found)


IMPORTING = """import os, sys, {0}.sub
from {0} import y
from . import sibling
try:
    import {0}
except ImportError: ...
class Digits: ...
"""


def test_import_of_a_task_that_is_not_there_is_told_with_its_line(project):
    file = project / "vision" / "tasks.py"
    file.write_text(IMPORTING.format("elsewhere"))
    assert problems(project) == []
    file.write_text(IMPORTING.format("not_there_at_all"))
    remedy = "install it, or put it into the project's folder"
    assert problems(project) == [f"{file}:{n}: there is no module not_there_at_all; {remedy}" for n in (1, 2)]


def test_task_of_several_nodes_is_looked_for_too(project):
    assert problems(project, nodes=2) == []
    assert problems(project, task="vision.task:Digits", nodes=2) == problems(project, task="vision.task:Digits")


@pytest.mark.parametrize("nodes", [1, 2])
def test_missing_script_is_told(project, nodes):
    told = f"train.py: there is no such script in {project}; give its path relative to the project"
    assert problems(project, script="train.py", nodes=nodes) == [told]
    (project / "train.py").touch()
    assert problems(project, script="train.py", nodes=nodes) == []


# ---------------------------------------------------------------------------------------------- the last save


def ran(project, name, seconds, pipeline="digits"):
    """A run that ended, whose checkpoints took so long."""
    outputs = {"parameters": [{"name": "save-seconds", "value": str(seconds)}]}
    node = {"id": "t", "name": "t", "type": "Pod", "phase": "Succeeded", "outputs": outputs}
    workflow = {
        "metadata": {"name": name, "labels": {"argosy/pipeline": pipeline}},
        "spec": {},
        "status": {"phase": "Succeeded", "nodes": {"t": node}},
    }
    Home(project / ".argosy").run(name).create("", workflow)


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_grace_shorter_than_the_last_save_is_refused(project, nodes):
    ran(project, "digits-1", 40.25)
    assert problems(project, grace="30s", nodes=nodes) == [
        "training.grace: 30 s are less than a checkpoint took in run digits-1: 40.2 s; set grace to 81s or more"
    ]
    assert problems(project, grace="81s", nodes=nodes) == []


def test_the_newest_run_of_this_pipeline_counts(project):
    ran(project, "digits-1", 40)
    ran(project, "digits-2", 5)
    ran(project, "letters-1", 40, pipeline="letters")
    assert problems(project, grace="30s") == []


def test_damaged_runs_and_runs_without_a_checkpoint_are_passed_over(project):
    ran(project, "digits-1", 40)
    ran(project, "digits-2", "")
    ran(project, "digits-3", 1)
    (project / ".argosy/runs/digits-3/workflow.json").write_text("{")
    assert "took in run digits-1" in problems(project, grace="30s")[0]


def test_missing_class_is_told_with_the_nearest(project):
    assert problems(project, task="vision.tasks:Digit") == [
        f"vision.tasks:Digit: {project}/vision/tasks.py has no Digit; did you mean Digits?"
    ]


def test_broken_module_is_told_with_its_line(project):
    (project / "vision" / "tasks.py").write_text("\nclass Digits(:\n")
    (problem,) = problems(project)
    assert problem.startswith(f"{project}/vision/tasks.py:2: syntax error: ")


def test_dataset_that_no_dvc_file_names_is_told_with_the_nearest(project):
    assert problems(project, dataset="data/digit") == [
        f"data/digit: no DVC file in {project} names it; did you mean data/digits?"
    ]


@pytest.mark.parametrize("path", ["../digits", "data/../../digits", "/data/digits", ".."])
def test_dataset_outside_of_the_project_is_told_though_it_is_named_like_one_inside(project, path):
    (problem,) = dataset_problems(f'[{{"path": "{path}"}}]', project)
    assert str(problem) == f"{path}: leads out of the project; give a path inside it, relative to it"


def test_each_of_several_datasets_is_looked_for(project):
    several = [Dataset("data/digits", only=["*.npz"]), Dataset("data/letters"), Dataset("data/marks")]
    assert [one.partition(":")[0] for one in problems(project, dataset=several)] == ["data/letters", "data/marks"]


def test_a_dvc_file_that_records_nothing_of_its_name_is_named(project):
    (project / "data").mkdir()
    (project / "data/odd.dvc").write_text("outs: 5\n")
    (problem,) = dataset_problems("data/odd", project)
    assert str(problem).startswith("data/odd.dvc: records no such dataset; write it anew: `dvc add data/odd`")


def test_datasets_that_are_tracked_one_by_one_are_suggested_too(project):
    (project / "data").mkdir()
    (project / "data/irises.dvc").write_text("outs:\n- path: irises\n")
    (problem,) = dataset_problems("data/irisse", project)
    assert "did you mean data/irises?" in str(problem)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[{"path": "data/digits"}, {"pth": "x"}]',
            "[1].path: is missing; write a path, or a list such as [{",
        ),
        ('["data/digits"', "invalid JSON"),
        ("[]", "is empty; write a path"),
        ('[{"path": "a/x"}, {"path": "b/x"}]', "several datasets are named 'x'; give each a name of its own"),
    ],
)
def test_list_of_datasets_that_no_step_would_read_is_told(project, text, said):
    (problem,) = dataset_problems(text, project)
    assert said in str(problem)


def test_dataset_of_its_own_dvc_file_is_found(project):
    (project / "raw.tar.dvc").write_text("outs:\n- md5: 79201b5a2b83bf704d801556482e197a\n  path: raw.tar\n")
    assert problems(project, dataset="raw.tar") == []


def test_merge_conflict_is_told_with_its_line(project):
    lines = LOCK.splitlines()
    (project / "dvc.lock").write_text("\n".join([*lines[:6], "<<<<<<< HEAD", *lines[6:]]))
    assert problems(project) == ["dvc.lock:7: holds a merge conflict; resolve it, then run `dvc status`"]


def test_lock_that_is_no_text_is_told_with_its_byte(project):
    (project / "dvc.lock").write_bytes(LOCK.encode() + b"# \xff")
    assert problems(project) == [f"dvc.lock: is no UTF-8 text at byte {len(LOCK) + 2}; write it anew with DVC"]


def test_linter_of_argo_is_asked_where_it_is_installed(tmp_path, monkeypatch):
    argo = tmp_path / "argo"
    asked = 'test "$1 $2 $3 $4" = "lint --offline --output simple" && test "$(cat $5)" = "kind: Workflow" || exit 3'
    argo.write_text(f"#!/bin/sh\n{asked}\necho 'file: bad'\nexit 1\n")
    argo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert [str(one) for one in argo_lint("kind: Workflow")] == ["argo lint: bad; see Argo's field reference"]


def test_linter_of_argo_is_not_missed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("argo") is None
    assert argo_lint("kind: Workflow") == []
