"""Runs manifests for real, in a project of their own."""

import json
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from argosy.pipelines.local.runner import LocalRuns
from argosy.pipelines.local.store import RunFolder
from argosy.pipelines.status import Node, Status

ARGO_MODULE = "github.com/argoproj/argo-workflows/v4@v4.0.5"
ARGO_SUM = "h1:/1lru5oXUd+k6KEDUps6rLX5OKfi1jTfabgXTly/VFU="


@dataclass
class Ended:
    """A run that has ended."""

    status: Status
    folder: RunFolder

    def node(self, display_name: str) -> Node:
        return next(node for node in self.status.nodes.values() if node.display_name == display_name)

    def phases(self) -> dict[str, str]:
        return {node.display_name: node.phase for node in self.status.nodes.values()}

    def log(self, display_name: str) -> str:
        return next(self.folder.pods.glob(f"*-{self.node(display_name).id.rpartition('-')[2]}/main.log")).read_text()


@pytest.fixture
def run(tmp_path):
    """`run(spec)` runs a Workflow's spec to its end."""
    runs = LocalRuns(tmp_path)

    def start(spec: dict | str, **parameters: str) -> Ended:
        spec = yaml.safe_load(spec) if isinstance(spec, str) else spec
        manifest = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"generateName": "test-"},
            "spec": spec,
        }
        submission = runs.prepare(json.dumps(manifest), parameters, again=True)
        status = runs.start(submission, lambda _: None)
        return Ended(status, runs.home.run(submission.name))

    return start


@pytest.fixture
def project(tmp_path) -> Path:
    return tmp_path


@pytest.fixture(scope="session")
def argo_examples() -> Path:
    """Argo's own examples, from its Go module."""
    if not shutil.which("go"):
        pytest.skip("Argo's examples were not run: they come with its Go module, and there is no go command")
    answer = subprocess.run(
        ["go", "mod", "download", "-json", ARGO_MODULE], check=False, capture_output=True, text=True, cwd="/"
    )
    module = json.loads(answer.stdout)
    assert module.get("Sum") == ARGO_SUM, module.get("Error", "another module than the one that was read")
    return Path(module["Dir"]) / "examples"


@pytest.fixture(scope="session", autouse=True)
def _hears_ctrl_c():
    """A shell lets what it starts with `&` ignore Ctrl-C, and so all that this starts (bash(1), SIGNALS)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
