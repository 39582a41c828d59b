"""A node's cache with a small dataset of numbered samples, and the step `train` on it."""

import io
import os
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[2] / "objectstore"))
import dvcremote

from argosy.steps.contracts import StageInput
from argosy.steps.stage import step as stage_step

HERE = Path(__file__).parent
TASK = "recorded:Recorded"
TRAINING = range(100)
VALIDATION = range(100_000, 100_012)
BATCH_SIZE = 8
STEPS_PER_EPOCH = -(-len(TRAINING) // BATCH_SIZE)


class Node:
    """Of a run of its own in a folder of its own."""

    def __init__(self, folder, **shards):
        """Writes the dataset, and stages it. `shards`: the content of those that are not as they should be."""
        self.folder, self.models = folder, folder / "models"
        project = folder / "project"
        (project / ".dvc").mkdir(parents=True)
        (project / ".dvc/config").write_text("[core]\n    remote = store\n['remote \"store\"']\n    url = ../remote\n")
        files = {f"{name}.tar": content for name, content in {**sound_shards(), **shards}.items()}
        (project / "set.dvc").write_text(dvcremote.write(project / "remote", files.items()).dvc_file("set"))
        self.cache = folder / "cache"
        inputs = StageInput(dataset="set", project=project, cache=self.cache, output=folder / "staged")
        self.dataset_hash = stage_step.run(inputs).dataset_hash

    def start(self, run, *, environment=None, **fields):
        """Starts an attempt of this run, with its stderr to be read; fields as the step's arguments, `_` for `-`."""
        fields = {
            "task": TASK,
            "ranks": 2,
            "cache": self.cache,
            "dataset_hash": self.dataset_hash,
            "models": self.models,
            "run": run,
            "output": self.folder / f"output-{run}",
            "checkpoint_every_seconds": 0.15,
            "checkpoints_kept": 2,
            "hyperparameters.batch_size": BATCH_SIZE,
            **fields,
        }
        words = [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]
        command = [sys.executable, "-m", "argosy.steps", "train", *words]
        path = os.pathsep.join([str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        environment = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), **(environment or {})}
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)

    def train(self, run, **fields):
        """An attempt to its end: its exit code, and the lines that it said."""
        with self.start(run, **fields) as process:
            _, said = process.communicate(timeout=600)
        return process.returncode, said.splitlines()

    def checkpoints(self, run, models=None):
        """Those of a run that count; the newest is the last."""
        return sorted(((models or self.models) / run / "checkpoints").glob("step-*"))


def step_of(checkpoint):
    return int(checkpoint.name.split("-")[1])


def found(supervisor, name):
    """The process of this name: `launcher`, `rank N`. None: it has not begun, or has ended."""
    with suppress(psutil.Error):
        for child in psutil.Process(supervisor.pid).children(recursive=True):
            if name == "launcher" and "argosy.steps.train.launcher" in child.cmdline():
                return child
            if name.startswith("rank") and child.environ().get("RANK") == name.removeprefix("rank "):
                return child
    return None


def sound_shards():
    """Name -> content."""
    third = len(TRAINING) // 3
    parts = TRAINING[:third], TRAINING[third : 2 * third], TRAINING[2 * third :]
    train = {f"train-{number}": of_numbers(part) for number, part in enumerate(parts)}
    return {**train, "validation-0": of_numbers(VALIDATION)}


def of_numbers(numbers):
    """A shard whose samples have one member, their number."""
    return of_members([(f"{number:06d}.cls", str(number).encode()) for number in numbers])


def of_members(members):
    """A shard of these names and contents."""
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, content in members:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return file.getvalue()
