"""What the machine's line says, on a system that has all of it and on one that has nothing."""

import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest

from argosy.steps import cores, machine
from argosy.steps.train import step
from argosy.steps.train.attempt import Outcome


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A system that tells nothing of itself; what is written to the folder, it does."""
    for module, name in ((machine, "CPUINFO"), (cores, "QUOTA"), (machine, "GPUS")):
        monkeypatch.setattr(module, name, tmp_path / name)
    monkeypatch.setitem(sys.modules, "torch", None)
    return tmp_path


def test_one_line_that_is_the_same_each_time():
    line = machine.fingerprint()
    assert line == machine.fingerprint()
    assert "\n" not in line
    assert line.startswith(f"{platform.system()} ")
    assert f"python {platform.python_version()}" in line
    assert "torch " in line


def test_it_imports_nothing_heavy():
    code = (
        "import sys; from argosy.steps import machine; machine.fingerprint();"
        "print({'torch', 'numpy', 'pydantic'} & {*sys.modules})"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"


@pytest.mark.usefixtures("bare")
def test_what_a_system_does_not_tell_is_left_out(monkeypatch):
    def refused(_name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", refused)
    monkeypatch.setattr(platform, "processor", lambda: "")
    line = machine.fingerprint()
    assert "GiB" not in line
    assert ", ," not in line
    assert "CPU" in line


def test_gpus_are_counted_by_their_driver_s_names(bare):
    for number, name in enumerate(("NVIDIA H200", "NVIDIA L4", "NVIDIA H200")):
        page = bare / "GPUS" / f"0000:0{number}:00.0" / "information"
        page.parent.mkdir(parents=True)
        page.write_text(f"Model: \t\t {name}\nIRQ:   \t\t 1\n")
    assert ", 2 NVIDIA H200, 1 NVIDIA L4, " in machine.fingerprint()


def test_a_quota_limits_the_cpus(bare):
    (bare / "QUOTA").write_text("100000 100000\n")
    assert cores.usable() == 1
    assert ", 1 CPU, " in machine.fingerprint()
    (bare / "QUOTA").write_text("max 100000\n")
    assert cores.usable() >= 1


@pytest.mark.usefixtures("bare")
def test_a_mac_s_processor_is_what_sysctl_says(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(machine, "_said", lambda *words: f"Apple M3 of {words[0]}")
    assert ", Apple M3 of /usr/sbin/sysctl, " in machine.fingerprint()


def test_a_training_says_on_which_machine_it_was_made():
    outcome = Outcome(resumed_at_step=0, step=3, model_hash="f" * 64, save_seconds=0, stall_seconds=0)
    assert step._output(SimpleNamespace(run="r"), outcome, 1.0).machine == machine.fingerprint()
