"""The namespaces that hold a cluster: whoever ends them, nothing is left."""

import signal
import subprocess
import time

import psutil
import pytest
from testcluster.machine import Machine
from testcluster.needs import lacking

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

    psutil.Process(machine.pid).send_signal(signal.SIGKILL)

    inside.wait(timeout=30)
    machine.stop()
    assert not machine.is_running()
    assert str(tmp_path) not in {one.mountpoint for one in psutil.disk_partitions(all=True)}
    while f"{machine.network}.1" in addresses():  # the kernel takes its devices back in its own time
        time.sleep(0.05)


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
