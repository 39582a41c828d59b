"""Jobs of a gang whose containers are small Python programs, and a cluster in which a test makes them happen."""

import json
import os
import runpy
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from argosy.steps.contracts import TERMINATION_LOG, TrainOutput
from argosy.steps.errors import StepError
from argosy.steps.gang import account, api, cluster, logs, picture, waiting
from argosy.steps.gang.lines import Lines
from argosy.steps.gang.manifest import Manifest

RESULT = TrainOutput(
    summary="trained",
    seconds=1,
    model="run/model",
    model_hash="00",
    steps=8,
    resumed_at_step=0,
    loss=0.5,
    validation_accuracy=0.9,
    samples_per_second=100,
    save_seconds=0,
    stall_seconds=0,
)


@pytest.fixture(scope="session")
def job():
    """Makes a Job as a pipeline's manifest holds it."""
    return _job


def _job(program: str, *args: str, nodes: int = 2, grace: float = 5, preparations=(), env=()) -> dict:

    def container(name: str, program: str, *args: str) -> dict:
        return {
            "name": name,
            "image": "example:1",
            "command": ["python", "-c"],
            "args": [program, "--output=/argosy/output", *args],
            "env": [{"name": TERMINATION_LOG, "value": "/dev/termination-log"}, *env],
        }

    pod = {
        "restartPolicy": "Never",
        "subdomain": "argosy-gang",
        "terminationGracePeriodSeconds": grace,
        "initContainers": [container(name, body) for name, body in preparations],
        "containers": [container("main", program, *args)],
    }
    template = {"metadata": {"labels": {"argosy.dev/gang": "true"}}, "spec": pod}
    spec = {"completionMode": "Indexed", "completions": nodes, "parallelism": nodes, "backoffLimit": 0}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {**spec, "template": template}}


@pytest.fixture
def fake(tmp_path):
    """A Kubernetes in which a test makes happen what it wants."""
    (tmp_path / "account").mkdir()
    made = runpy.run_path(str(Path(__file__).with_name("fake_kubernetes.py")))["FakeKubernetes"](tmp_path / "account")
    yield made
    made.close()


@pytest.fixture
def models(tmp_path) -> Path:
    """A model store in which run `r` has a result."""
    (tmp_path / "models" / "r").mkdir(parents=True)
    (tmp_path / "models" / "r" / "result.json").write_text(RESULT.model_dump_json())
    return tmp_path / "models"


@pytest.fixture
def start(tmp_path, models):
    """Starts `python -m argosy.steps gang` for a Job."""
    started = []

    def begin(job: dict, *, env=None, **arguments: str) -> subprocess.Popen:
        words = [f"--arguments.{name.replace('_', '-')}={value}" for name, value in arguments.items()]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "argosy.steps", "gang", f"--output={tmp_path / 'out'}", "--run=r"),
                *(f"--job={json.dumps(job)}", f"--models={models}", "--arguments.run=r", *words),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, TERMINATION_LOG: str(tmp_path / "word"), **(env or {})},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run(start):
    """Runs a gang to its end: exit code, standard output, standard error."""

    def to_end(job: dict, **settings) -> tuple[int, str, str]:
        process = start(job, **settings)
        out, err = process.communicate(timeout=200)
        return process.returncode, out, err

    return to_end


@pytest.fixture
def _quick(monkeypatch):
    """A gang that waits for nothing longer than a test does."""
    for module, name, seconds in (
        (api, "FIRST_PAUSE", 0.01),
        (cluster, "LOOK_SECONDS", 0.05),
        (cluster, "EARLIER_SECONDS", 1.0),
        (cluster, "LAST_PATIENCE_SECONDS", 1.0),
        (cluster, "SETTLE_SECONDS", 0.3),
        (logs, "BETWEEN_READS_SECONDS", 0.05),
        (picture, "BETWEEN_WATCHES_SECONDS", 0.05),
        (waiting, "BETWEEN_LOOKS_SECONDS", 0.05),
        (waiting, "SILENT_SECONDS", 0.2),
    ):
        monkeypatch.setattr(module, name, seconds)


class Heard(Lines):
    """Lines that a test can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.printed: list[str] = []
        self._more = threading.Condition()

    def _print(self, whose: str, line: str) -> None:
        super()._print(whose, line)
        with self._more:
            self.printed.append(f"{whose} | {line}")
            self._more.notify_all()

    def await_line(self, line: str, times: int = 1) -> None:
        with self._more:
            assert self._more.wait_for(lambda: self.printed.count(line) >= times, 120), self.printed


@pytest.fixture
def progress(tmp_path, monkeypatch):
    """What a gang that is made later tells Argo."""
    monkeypatch.setenv("ARGO_PROGRESS_FILE", str(tmp_path / "progress"))
    return tmp_path / "progress"


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def train(_quick, fake, job, heard):
    """Trains while a scenario happens in the cluster."""

    def together(scenario, made=None, *, group: str = "", grace: float = 1) -> None:
        text = json.dumps(made or job("pass", grace=grace))
        who = account.Account(fake.address, fake.account)
        gang = cluster.ClusterGang(who, Manifest("r", text, group, {"x": "1"}), heard)

        def happen() -> None:
            try:
                scenario()
            except BaseException:
                fake.drop("jobs", next(iter(fake.objects["jobs"]), ""))  # the gang would wait for ever
                raise

        with ThreadPoolExecutor(1) as pool:
            happening = pool.submit(happen)
            try:
                gang.train()
            finally:
                happening.result(200)

    return together


@pytest.fixture
def fails(train):
    """The failure that a scenario ends in."""

    def failing(scenario, *given, **settings) -> StepError:
        with pytest.raises(StepError) as caught:
            train(scenario, *given, **settings)
        return caught.value

    return failing
