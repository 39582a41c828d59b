"""Runs as Argo writes them, without running anything; and the command line, with manifests for it to run."""

import os
import re
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

ARGOSY = Path(sys.executable).with_name("argosy")

RUN = "run"
CLOCK = "2026-01-01T00:{:02}:{:02}Z"


def at(second):
    return CLOCK.format(*divmod(second, 60))


def identifier(name):
    return name if name == RUN else f"{RUN}-{zlib.crc32(name.encode())}"


@pytest.fixture
def node():
    """A node of a run as JSON. `name` is Argo's whole name; `start` and `end` are seconds; `outputs` are parameters."""

    def make(name, phase="Succeeded", kind="Pod", *, start=0, end=1, outputs=None, code=None, children=(), **fields):
        boundary = fields.pop("boundary", RUN if name != RUN and not name.endswith("run.onExit") else None)
        made = {
            "id": identifier(name),
            "name": name,
            "displayName": name.removeprefix(f"{boundary}.").rpartition("].")[2],
            "type": kind,
            "phase": phase,
            "templateName": fields.pop("template", "work"),
            "startedAt": at(start),
            "children": [identifier(child) for child in children],
            **fields,
        }
        if boundary:
            made["boundaryID"] = identifier(boundary)
        if phase not in ("Running", "Pending"):
            made["finishedAt"] = at(end)
        if outputs or code is not None:
            parameters = [{"name": key, "value": value} for key, value in (outputs or {}).items()]
            made["outputs"] = {"parameters": parameters} | ({} if code is None else {"exitCode": str(code)})
        return made

    return make


@pytest.fixture
def workflow(node):
    """A run as an Argo Workflow object; the entrypoint's own node comes first unless it is among the nodes."""

    def make(*nodes, phase="Succeeded", message="", parameters=None, end=60, kind="DAG"):
        own = [] if any(one["name"] == RUN for one in nodes) else [node(RUN, phase, kind, end=end)]
        status = {"phase": phase, "message": message, "startedAt": at(0)}
        if phase != "Running":
            status["finishedAt"] = at(end)
        status["nodes"] = {one["id"]: one for one in (*own, *nodes)}
        arguments = {"parameters": [{"name": key, "value": value} for key, value in (parameters or {}).items()]}
        return {"metadata": {"name": RUN}, "spec": {"arguments": arguments, "templates": []}, "status": status}

    return make


# ---------------------------------------------------------------------------------------------- the command line

GREETING = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: greet-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: word, value: hello}]}
  templates:
  - name: main
    dag:
      tasks:
      - {name: say, template: say}
      - {name: tell, template: tell, depends: say, when: "{{workflow.parameters.word}} == tell"}
  - name: say
    nodeSelector: {disk: fast}
    container: {image: x, command: [sh, -c], args: ["echo {{workflow.parameters.word}}"]}
  - name: tell
    container: {image: x, command: ["true"]}
"""
FAILING = GREETING.replace('["echo {{workflow.parameters.word}}"]', '["echo last words; exit 7"]')
GATE = GREETING.replace('["echo {{workflow.parameters.word}}"]', '["exit 80"]')
# Each pod that waits tells that it has begun, and waits for the file `go` in the project.
WAITING = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: wait-}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: first, template: first}
      - {name: second, template: second, depends: first}
  - name: first
    container: {image: x, command: [sh, -c], args: ["echo first >> $PROJECT/ran; echo done"]}
  - name: second
    container: {image: x, command: [sh, -c], args: [
      "echo second >> $PROJECT/ran; echo begun; while [ ! -e $PROJECT/go ]; do sleep 0.05; done; echo over"
    ]}
"""
# A gate that cannot tell, and whose policy is to hold.
HELD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: held-}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: gate, template: gate}
      - {name: gate-hold, template: gate-hold, depends: gate.Succeeded,
         when: '"{{tasks.gate.outputs.parameters.answer}}" == "inconclusive"'}
      - {name: publish, template: publish,
         depends: gate.Succeeded && (gate-hold.Succeeded || gate-hold.Skipped)}
  - name: gate
    container: {image: x, command: [sh, -c], args: ["echo gate >> $PROJECT/ran; printf inconclusive > /tmp/answer"]}
    outputs: {parameters: [{name: answer, valueFrom: {path: /tmp/answer}}]}
  - {name: gate-hold, suspend: {}}
  - name: publish
    container: {image: x, command: [sh, -c], args: ["echo publish >> $PROJECT/ran"]}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a few manifests, and the working directory."""
    (tmp_path / "pyproject.toml").touch()
    manifests = {"greeting": GREETING, "failing": FAILING, "gate": GATE, "waiting": WAITING, "held": HELD}
    for name, text in manifests.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROJECT", str(tmp_path))  # not written out: a pod has a /tmp of its own
    monkeypatch.setenv("PATH", f"{ARGOSY.parent}:{os.environ['PATH']}")
    return tmp_path


@dataclass
class Done:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def run(self):
        """The name of the run that it told of."""
        return re.search(r"run (\S+)", self.stdout + self.stderr)[1]


@pytest.fixture
def argosy(project):  # noqa: ARG001 - it is the working directory
    """Runs a command in the project."""

    def call(*words, **options):
        done = subprocess.run([ARGOSY, *words], capture_output=True, text=True, check=False, timeout=60, **options)
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def wait_for():
    def wait(condition, seconds=30):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it never came"
            time.sleep(0.02)

    return wait


@pytest.fixture
def begun(project, wait_for):
    """A run of `waiting.yaml` whose second pod waits for the file `go`."""
    process = subprocess.Popen(
        [ARGOSY, "run", "waiting.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    wait_for(lambda: (project / "ran").exists() and "second" in (project / "ran").read_text())
    yield process
    (project / "go").touch()
    process.kill()
    process.communicate(timeout=30)


@pytest.fixture
def completed(argosy):
    """What the shell offers for the last of some words."""

    def complete(*words):
        environment = {"_ARGOSY_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(["argosy", *words])}
        done = argosy(env=os.environ | environment | {"COMP_CWORD": str(len(words))})
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    return complete
