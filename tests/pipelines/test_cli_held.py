"""A run that waits for a person: how commands tell of it, let it go on, and end it."""

import json
from types import SimpleNamespace

import pytest

from argosy.pipelines.commands import anywhere


@pytest.fixture
def held(argosy):
    """A run that waits for a person."""
    return argosy("run", "held.yaml")


def ran(project):
    return (project / "ran").read_text().split()


def test_a_held_run_ends_the_command_with_what_it_waits_for_and_a_code_of_its_own(held, project):
    assert held.returncode == 4
    assert f"⏸ {held.run} held: gate-hold waits for a person\n" in held.stdout
    assert f"next  argosy resume {held.run}\n        argosy stop {held.run}\n" in held.stdout
    assert ran(project) == ["gate"]


def test_the_same_run_asked_for_again_waits_still(argosy, held, project):
    again = argosy("run", "held.yaml", "--json")
    assert (again.returncode, json.loads(again.stdout)["phase"]) == (4, "Held")
    assert again.stderr.startswith(f"run {held.run} exists")
    assert ran(project) == ["gate"]


def test_runs_and_show_tell_of_it(argosy, held):
    assert "⏸ held" in argosy("runs").stdout
    assert "gate-hold waits for a person" in argosy("runs").stdout
    assert f"argosy resume {held.run}" in argosy("show").stdout
    (step,) = [
        one for one in json.loads(argosy("run", "held.yaml", "--json").stdout)["steps"] if one["phase"] == "Held"
    ]
    assert step["name"] == "gate-hold"


def test_resuming_goes_on_to_the_end(argosy, held, project):
    done = argosy("resume")
    assert done.returncode == 0
    assert done.stdout.startswith(f"resuming {held.run}\n")
    assert f"✔ {held.run} succeeded" in done.stdout
    assert "Resumed by: " in done.stdout
    assert ran(project) == ["gate", "publish"]


def test_a_step_that_does_not_wait_is_told_with_the_nearest_and_nothing_goes_on(argosy, held, project):
    done = argosy("resume", held.run, "--step", "gate-hole")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"argosy: no step 'gate-hole' of run {held.run} waits for a person; did you mean gate-hold?\n"
    assert argosy("resume", held.run, "--step", "gate-hold").returncode == 0
    assert ran(project) == ["gate", "publish"]


@pytest.mark.usefixtures("held")
def test_stopping_is_the_no(argosy, project):
    stopped = argosy("stop")
    assert stopped.returncode == 0
    assert "gate-hold failed: Stopped with strategy 'Stop'" in stopped.stdout
    assert "argosy logs" not in stopped.stdout
    assert argosy("resume").stderr.startswith("argosy: there is no run that waits for a person in ")
    assert ran(project) == ["gate"]


def test_a_held_run_is_not_retried_but_resumed(argosy, held):
    refused = argosy("retry", held.run)
    assert refused.returncode == 2
    assert refused.stderr == f"argosy: run {held.run} waits for a person; `argosy resume {held.run}` goes on\n"
    assert argosy("retry").returncode == 2


@pytest.mark.usefixtures("begun")
def test_a_run_that_goes_on_is_not_resumed(argosy):
    name = json.loads(argosy("runs", "--json").stdout)[0]["name"]
    refused = argosy("resume", name)
    assert refused.returncode == 2
    assert f"run {name} is running" in refused.stderr


@pytest.mark.usefixtures("held")
def test_a_pause_has_no_logs(argosy):
    assert "gate-hold: it has no pod, and prints nothing: it is a pause\n" in argosy("logs").stdout


def test_the_code_is_told_where_codes_are(argosy):
    assert "  4    the run waits for a person: `argosy resume` lets it go on" in argosy("--help").stdout
    assert "4 it waits for a person" in " ".join(argosy("run", "--help").stdout.split())


@pytest.mark.parametrize(("failures", "first"), [([], "resume"), (["accuracy-gate"], "stop")])
def test_where_a_step_has_failed_already_the_no_comes_first(failures, first):
    run = SimpleNamespace(name="run-1", failures=lambda: failures)
    assert anywhere._decisions(run, "argosy", "")[0] == f"argosy {first} run-1"
