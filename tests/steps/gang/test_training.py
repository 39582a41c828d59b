"""Two nodes that train the real digits on this machine, as a gang's Job says it."""

import json
import os
import re
import signal
import subprocess
import sys

import psutil
import pytest

from argosy.steps.contracts import ExitCode, TrainOutput

ENVIRONMENT = {"OMP_NUM_THREADS": "1"}
"""Sums of several threads come out otherwise with another number of them."""


@pytest.fixture
def gang(training, tmp_path):
    """Starts a gang whose nodes have as many ranks together as one node has in `training`."""
    started = []

    def start(run: str, **changed) -> subprocess.Popen:
        models = tmp_path / "models"
        fields = {**training, "nodes": 2, "ranks": 1, "models": models, "run": run, **changed}
        words = [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]
        main = {"name": "main", "command": ["python", "-m", "argosy.steps"], "args": ["train", "--output=/out", *words]}
        pod = {"terminationGracePeriodSeconds": 30, "containers": [main]}
        job = json.dumps({"kind": "Job", "spec": {"parallelism": 2, "template": {"spec": pod}}})
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "argosy.steps", "gang", f"--run={run}", f"--output={tmp_path / run}"),
                *(f"--models={models}", f"--job={job}", f"--arguments.run={run}"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **ENVIRONMENT},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until_step(process: subprocess.Popen, step: int) -> None:
    """Node 0 has told of this step or a later one."""
    read = []
    for line in process.stdout:
        read.append(line)
        if (found := re.match(r"node 0 \| step ([\d,]+)/", line)) and int(found[1].replace(",", "")) >= step:
            return
    pytest.fail("".join([*read, process.stderr.read()]))


def ended(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=300)
    return f"{out}{err}"


def output(tmp_path, run: str) -> TrainOutput:
    return TrainOutput.model_validate_json((tmp_path / run / "record.json").read_bytes())


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those of them that run on after a while."""
    _, left = psutil.wait_procs([one for one in processes if one.is_running()], timeout=120)
    return [one for one in left if one.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
def one(run_step, training, tmp_path) -> TrainOutput:
    """What one node trains with as many ranks."""
    fields = {**training, "models": tmp_path / "models", "run": "one", "output": tmp_path / "one"}
    done = run_step("train", **fields, env=ENVIRONMENT)
    assert done.exit_code == 0, done.stderr
    return output(tmp_path, "one")


def is_the_same(found: TrainOutput, expected: TrainOutput) -> bool:
    return (found.steps, found.loss, found.validation_accuracy) == (
        expected.steps,
        expected.loss,
        expected.validation_accuracy,
    )


def test_two_nodes_train_what_one_node_trains_to_the_bit_however_often_they_are_stopped(gang, one, tmp_path):
    stopped = gang("two")
    until_step(stopped, 40)
    stopped.send_signal(signal.SIGTERM)
    said = ended(stopped)
    assert stopped.returncode == 143, said
    assert "with a checkpoint" in said

    killed = gang("two")
    until_step(killed, 120)
    family = psutil.Process(killed.pid).children(recursive=True)
    killed.kill()
    assert not alive(family)

    crashed = gang("two")
    until_step(crashed, 200)
    workers = [
        child for child in psutil.Process(crashed.pid).children(recursive=True) if "worker" in " ".join(child.cmdline())
    ]
    workers[-1].kill()
    said = ended(crashed)
    assert crashed.returncode == ExitCode.TEMPORARY, said
    assert re.search(r"^node \d: .*was killed", said, re.MULTILINE), said

    last = gang("two")
    said = ended(last)
    assert last.returncode == 0, said
    assert output(tmp_path, "two").resumed_at_step > 0
    assert is_the_same(output(tmp_path, "two"), one)
