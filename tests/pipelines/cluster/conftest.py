"""A project with a committed pipeline, and a fake Argo server that its commands reach."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fakeargo import NAMESPACE, TOKEN, FakeArgo

GREETING = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: greet-, labels: {argosy/pipeline: greet}, annotations: {workflows.argoproj.io/title: greet}}
spec:
  entrypoint: say
  arguments: {parameters: [{name: word, value: hello}, {name: revision, value: ""}]}
  templates:
  - {name: say, container: {image: x, command: [echo], args: ["{{workflow.parameters.word}}"]}}
"""


@pytest.fixture
def argo():
    server = FakeArgo()
    yield server
    if server.is_up:
        server.stop()


@pytest.fixture
def project(tmp_path, monkeypatch, argo):
    """A committed project, the working directory; Argo's own variables lead to the fake."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "greeting.yaml").write_text(GREETING)
    (tmp_path / ".gitignore").write_text(".argosy/\n")
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("ARGO_") or name in ("KUBECONFIG", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            monkeypatch.delenv(name)
    for name, value in {
        "ARGO_SERVER": argo.address,
        "ARGO_SECURE": "false",
        "ARGO_TOKEN": TOKEN,
        "ARGO_NAMESPACE": NAMESPACE,
        "HOME": str(tmp_path / "home"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    _git("init", "-q", "-b", "feature/A_b")
    _git("config", "user.name", "Ada")
    _git("config", "user.email", "ada@example.org")
    _git("add", "-A")
    _git("commit", "-q", "-m", "x")
    return tmp_path


def _git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def git(project):  # noqa: ARG001 - it is the working directory
    return _git


@pytest.fixture
def commit(git):
    return git("rev-parse", "HEAD")


@pytest.fixture
def connected(project):
    """An ArgoServer in this process that asks each question once."""
    from argosy.pipelines.cluster.connection import connection
    from argosy.pipelines.cluster.server import ArgoServer
    from argosy.pipelines.cluster.session import Patience

    return ArgoServer(connection(None, project), Patience(connect=2, answer=2, again=0))


@pytest.fixture
def running(argo, workflow):
    """A run of the fake's that goes on: `running(*nodes)`; with `phase` it is over."""

    def make(*nodes, phase="Running", message=""):
        made = workflow(*nodes, phase=phase, message=message)
        made["metadata"] |= {"labels": {"argosy/pipeline": "greet"}, "creationTimestamp": "2026-01-01T00:00:00Z"}
        argo.put(made)
        return made

    return make
