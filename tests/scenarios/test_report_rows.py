"""Troubles that users of other systems reported with looking at runs afterwards, each with the right answer."""

import shutil
import subprocess

import pytest
import yaml

from argosy.pipelines.local.store import Home


@pytest.fixture
def ended(tmp_path, argosy_command):
    """A run of two steps that has ended."""
    spec = {
        "entrypoint": "main",
        "templates": [
            {"name": "say", "container": {"image": "x", "command": ["echo"], "args": ["hello"]}},
            {"name": "quiet", "container": {"image": "x", "command": ["true"]}},
            {"name": "main", "dag": {"tasks": [{"name": "a", "template": "say"}, {"name": "b", "template": "quiet"}]}},
        ],
    }
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "logs-"},
        "spec": spec,
    }
    (tmp_path / "logs.yaml").write_text(yaml.safe_dump(manifest))
    subprocess.run([argosy_command, "run", "logs.yaml"], cwd=tmp_path, capture_output=True, check=True)
    return tmp_path


def logs(project, argosy_command, *words):
    return subprocess.run([argosy_command, "logs", *words], cwd=project, capture_output=True, text=True, check=False)


def test_q1_logs_outlive_their_pod(ended, argosy_command):
    assert "hello" in logs(ended, argosy_command, "a").stdout


def test_q1_logs_that_are_gone_are_said_to_be_gone(ended, argosy_command):
    (run,) = Home(ended / ".argosy").runs()
    shutil.rmtree(run.pods)
    told = logs(ended, argosy_command, "a")
    assert "logs unavailable: " in told.stdout + told.stderr


def test_q1_a_step_that_printed_nothing_is_said_to_have_printed_nothing(ended, argosy_command):
    told = logs(ended, argosy_command, "b")
    assert (told.stdout + told.stderr).strip()
