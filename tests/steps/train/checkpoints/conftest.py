"""Checkpoints of one rank in this process, and of several in others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from argosy.steps.train.checkpoints import Checkpoints
from argosy.steps.train.checkpoints.folder import Folder
from argosy.steps.train.world import World

ALONE = World(0, 1, torch.device("cpu"))
DATA = "0" * 32
HERE = Path(__file__).parent


class Values:
    """A part of a training that is a dictionary."""

    def __init__(self, **values):
        self.values = values

    def state_dict(self):
        return self.values

    def load_state_dict(self, values):
        self.values = values


@pytest.fixture
def values():
    return Values


@pytest.fixture
def open_checkpoints(tmp_path):
    """One rank's, in a folder of the test's own unless another store is given."""

    def opened(store=None, **options):
        options = {"kept": 2, "dataset_hash": DATA, **options}
        return Checkpoints(store or Folder(tmp_path / "checkpoints"), ALONE, **options)

    return opened


@pytest.fixture
def save(open_checkpoints, values):
    """Saves a part called `part` after these steps, with these values if any; returns the folders that count."""

    def saved(*steps, store=None, checkpoints=None, **given):
        checkpoints = checkpoints or open_checkpoints(store)
        for step in steps:
            checkpoints.save(step, {"part": values(step=step, tensor=torch.full((1000,), step), **given)})
        checkpoints.finish()
        return checkpoints

    return saved


@pytest.fixture
def resume(open_checkpoints, values):
    """The step resumed at, and the part's values."""

    def resumed(store=None, **options):
        part = values()
        step = open_checkpoints(store, **options).resume({"part": part})
        return step, part.values

    return resumed


@pytest.fixture
def folders(tmp_path):
    """Those that count, by their steps' order."""

    def found():
        return sorted((tmp_path / "checkpoints").glob("step-*"))

    return found


@pytest.fixture(scope="session")
def ranks():
    """`ranks(program, size, *arguments)`: what each of so many ranks answers; see programs.py."""
    command = [sys.executable, HERE / "zygote.py"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def run(program, size, *arguments):
            words = [program, size, [str(one) if isinstance(one, Path) else one for one in arguments]]
            process.stdin.write(json.dumps(words) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


@pytest.fixture
def python(tmp_path):
    """Runs a program to its end: its exit code, what it printed, and what it said. After the lines of a shell, which
    mount something; that is unmounted with the program's end.
    """

    def run(code, *words, mounts):
        if os.geteuid() != 0 or sys.platform != "linux":
            pytest.skip("mounting needs Linux and root")
        script = tmp_path / "mounts.sh"
        script.write_text(f'set -e\n{mounts}\nexec "$@"\n')
        command = ["unshare", "--mount", "sh", str(script), sys.executable, "-c", code, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if "loop device" in done.stderr:
            pytest.skip(f"no loop devices here: {done.stderr}")
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    return run
