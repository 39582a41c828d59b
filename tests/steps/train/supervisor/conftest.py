"""Trainings whose ranks do as a test says, under the real supervisor and the real torchrun."""

import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from argosy.steps.contracts import GANG, LEADER, NODE_RANK, TERMINATION_LOG, TrainOutput
from argosy.steps.train.history import History

HERE = Path(__file__).parent


@dataclass
class Ended:
    exit_code: int
    last_word: str
    stderr: str


class Started:
    """A node's `train`, under way."""

    def __init__(self, folder, words, environment):
        self.output = folder
        folder.mkdir(exist_ok=True)
        self._last_word = folder / "termination"
        self._last_word.write_text("")
        environment = {**os.environ, "PYTHONPATH": str(HERE), TERMINATION_LOG: str(self._last_word), **environment}
        command = [sys.executable, str(HERE / "started.py"), *words, f"--output={folder}"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)

    def ended(self):
        _, stderr = self.process.communicate(timeout=60)
        return Ended(self.process.returncode, self._last_word.read_text(), stderr)

    @property
    def record(self):
        return TrainOutput.model_validate_json((self.output / "record.json").read_bytes())


class Trainings:
    """Of one run."""

    def __init__(self, folder):
        self.folder, self.models = folder, folder / "models"
        self.run = self.models / "r"
        self._started = []

    def start(self, *, node=0, environment=None, meeting_seconds=30, **asked):
        fields = {
            "models": self.models,
            "run": "r",
            "ranks": 2,
            "task": "a:B",
            "cache": self.folder,
            "dataset-hash": "0" * 32,
            "checkpoint-every-seconds": 1,
            "checkpoints-kept": 2,
        }
        contract = {"nodes", "nodes_at_least", "grace_seconds", "hang_seconds", "hang_factor", "ranks", "script"}
        for name, value in asked.items():
            fields[name.replace("_", "-") if name in contract else f"hyperparameters.{name}"] = value
        words = [str(meeting_seconds), *(f"--{name}={value}" for name, value in fields.items())]
        self._started.append(started := Started(self.folder / f"node-{node}", words, environment or {}))
        return started

    def end(self, **asked):
        return self.start(**asked).ended()

    def gang(self, count, *, present=None, leader=None, **asked):
        """Its nodes, as processes here; all, or those that are present."""
        leader = leader or f"127.0.0.1:{free_port()}"
        return [
            self.start(
                node=node,
                nodes=count,
                environment={NODE_RANK: str(node), LEADER: leader, GANG: "g"},
                **asked,
            )
            for node in (range(count) if present is None else present)
        ]

    def records(self):
        return History(self.run)._records()

    def close(self):
        for started in self._started:
            started.process.kill()
            started.process.communicate()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.fixture
def eventually():
    """Waits for what another process does."""

    def wait(done, seconds=60):
        until = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < until, "it did not come about"
            time.sleep(0.05)

    return wait


@pytest.fixture
def trainings(tmp_path):
    made = Trainings(tmp_path)
    yield made
    made.close()
