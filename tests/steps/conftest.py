"""A small project whose data is under DVC, and what staging and training make of it: all of it real."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from argosy.steps import digits_data
from argosy.steps.contracts import StageInput, TrainOutput
from argosy.steps.stage import step as stage_step

DATASET = "data/digits"
SIZES = {"train": 320, "validation": 64, "test": 128}
TRAINING = {
    "task": "argosy.steps.digits:Digits",
    "ranks": 2,
    "checkpoint-every-seconds": 0.3,
    "checkpoints-kept": 2,
    "hyperparameters.epochs": 40,
    "hyperparameters.batch-size": 32,
}


def command(name, **fields):
    words = [f"--{field.replace('_', '-')}={value}" for field, value in fields.items()]
    return [sys.executable, "-m", "argosy.steps", name, *words]


def run_tool(*words, folder):
    subprocess.run(words, cwd=folder, check=True, capture_output=True, env={**os.environ, **GIT_IDENTITY})


GIT_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Test"), ("EMAIL", "test@localhost"))
}


@pytest.fixture(scope="session")
def start_step():
    """Starts `python -m argosy.steps NAME --field=value ...`, with its stderr to be read."""

    def start(name, *, env=None, **fields):
        return subprocess.Popen(
            command(name, **fields), stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
        )

    return start


@pytest.fixture(scope="session")
def run_step(start_step):
    """Runs a step to its end."""

    def run(name, *, env=None, **fields):
        with start_step(name, env=env, **fields) as process:
            _, stderr = process.communicate(timeout=120)
        return SimpleNamespace(exit_code=process.returncode, stderr=stderr)

    return run


@pytest.fixture(scope="session")
def shards(tmp_path_factory):
    """A folder of shards with a few hundred of the real digits."""
    folder = tmp_path_factory.mktemp("shards")
    for split, samples in digits_data.splits().items():
        kept = samples[: SIZES[split]]
        half = len(kept) // 2
        digits_data.write_shard(folder / f"{split}-0000.tar", kept[:half])
        digits_data.write_shard(folder / f"{split}-0001.tar", kept[half:])
    return folder


@pytest.fixture(scope="session")
def first_project(tmp_path_factory, shards):
    """A git and DVC project whose dataset is pushed and committed. Shared: not to be changed."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(shards, folder / DATASET)
    dvc = [sys.executable, "-m", "dvc"]
    run_tool("git", "init", "--quiet", "--initial-branch=main", folder=folder)
    run_tool(*dvc, "init", "--quiet", folder=folder)
    run_tool(*dvc, "config", "core.analytics", "false", folder=folder)
    run_tool(*dvc, "config", "core.check_update", "false", folder=folder)
    run_tool(*dvc, "remote", "add", "--default", "store", "dvc-remote", folder=folder)
    run_tool(*dvc, "add", "--quiet", DATASET, folder=folder)
    run_tool(*dvc, "push", "--quiet", folder=folder)
    (folder / ".gitignore").write_text("/dvc-remote\n")
    run_tool("git", "add", "--all", folder=folder)
    run_tool("git", "commit", "--quiet", "--message=First", folder=folder)
    return folder


@pytest.fixture
def project(first_project, tmp_path):
    """A project of the test's own."""
    folder = tmp_path / "project"
    shutil.copytree(first_project, folder, symlinks=True)
    return folder


@pytest.fixture
def git():
    def run(folder, *words):
        run_tool("git", *words, folder=folder)

    return run


@pytest.fixture
def dvc():
    def run(folder, *words):
        run_tool(sys.executable, "-m", "dvc", *words, folder=folder)

    return run


@pytest.fixture(scope="session")
def staged(first_project, tmp_path_factory):
    """A node's cache with the dataset in it: `cache`, `dataset_hash`, `pin`."""
    cache = tmp_path_factory.mktemp("cache")
    output = stage_step.run(StageInput(dataset=DATASET, project=first_project, cache=cache, output=cache / "output"))
    return SimpleNamespace(cache=cache, dataset_hash=output.dataset_hash, pin=output.dataset_pin)


@pytest.fixture(scope="session")
def training(staged):
    """The arguments of a training of a few seconds on the staged dataset."""
    return {**TRAINING, "cache": staged.cache, "dataset-hash": staged.dataset_hash}


@pytest.fixture(scope="session")
def trained(staged, training, run_step, tmp_path_factory):
    """A finished training: `cache`, `dataset_hash`, `models`, `run`, `output` (its TrainOutput)."""
    models = tmp_path_factory.mktemp("models")
    output = tmp_path_factory.mktemp("output")
    done = run_step("train", **training, models=models, run="first", output=output)
    assert done.exit_code == 0, done.stderr
    return SimpleNamespace(
        cache=staged.cache,
        dataset_hash=staged.dataset_hash,
        models=models,
        run="first",
        output=TrainOutput.model_validate_json((output / "record.json").read_bytes()),
    )


@pytest.fixture
def outputs(tmp_path) -> Path:
    return tmp_path / "output"
