"""The namespaces that hold a cluster: whoever ends them, nothing is left."""

import os
import subprocess
import sys
import time

import psutil
import pytest
from testcluster.machine import Machine
from testcluster.needs import lacking
from testcluster.paths import SOURCES

pytestmark = pytest.mark.skipif(bool(lacking()), reason=f"cluster tier not run: {lacking()}")


@pytest.fixture
def machine():
    started = Machine.started()
    yield started
    started.stop()


def test_a_killed_machine_takes_processes_mounts_and_network_with_it(machine, tmp_path):
    machine.run("mount", "-t", "tmpfs", "tmpfs", tmp_path)
    program = f"import time; open({str(tmp_path / 'begun')!r}, 'w').close(); time.sleep(600)"
    inside = subprocess.Popen(machine.inside("python3", "-c", program))
    while machine.run("test", "-e", tmp_path / "begun", check=False).returncode:
        assert inside.poll() is None
        time.sleep(0.05)
    assert f"{machine.network}.1" in addresses()

    machine.process.kill()

    inside.wait(timeout=120)
    machine.stop()
    assert str(tmp_path) not in {one.mountpoint for one in psutil.disk_partitions(all=True)}
    while f"{machine.network}.1" in addresses():  # the kernel takes its devices back in its own time
        time.sleep(0.05)


STARTED = """
import pathlib, sys
from testcluster.machine import Machine
machine = Machine.started(stays=sys.argv[1] == "stays", folder=pathlib.Path(sys.argv[2]))
print(machine.process.pid, flush=True)
sys.stdin.read()
"""


def left_by_a_killed_process(word, folder) -> psutil.Process:
    """The first process of a machine whose starter was killed."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTED, word, folder],
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        first = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
    return first


def test_a_machine_ends_with_the_process_that_started_it_however_that_ends(tmp_path):
    left_by_a_killed_process("ends", tmp_path).wait(timeout=120)


def test_a_machine_that_stays_is_found_by_its_folder(tmp_path):
    first = left_by_a_killed_process("stays", tmp_path)
    assert Machine.found(tmp_path.parent) == []
    (found,) = Machine.found(tmp_path)
    assert found.process == first
    found.stop()
    assert not first.is_running()


def test_nothing_of_the_outside_answers_inside(machine):
    done = machine.run("python3", "-c", REACH, check=False)
    assert done.stdout.strip() == "unreachable"


def addresses() -> set[str]:
    return {one.address for found in psutil.net_if_addrs().values() for one in found}


REACH = """
import socket
with socket.socket() as connection:
    connection.settimeout(2)
    try:
        connection.connect(("192.0.2.254", 80))
        print("reached")
    except OSError:
        print("unreachable")
"""
