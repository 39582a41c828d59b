"""Whole trainings, under the real step and torchrun, on a staged dataset of numbered samples."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from records import Record
from trainingnode import Node

from argosy.steps import serving


@pytest.fixture(scope="session")
def node(tmp_path_factory):
    """Runs of any name; their attempts are recorded."""
    return Node(tmp_path_factory.mktemp("node"))


@pytest.fixture
def record(tmp_path):
    """`record("first")`: of the attempt that is started with its `environment`."""
    return lambda name: Record(tmp_path / name)


@pytest.fixture(scope="session")
def weights():
    """Those of a run's exported model."""
    return lambda run: serving.load_program(run / "model" / "model.pt2").state_dict()


@pytest.fixture
def disk(tmp_path):
    """A small one, in memory."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting needs Linux and root")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)
