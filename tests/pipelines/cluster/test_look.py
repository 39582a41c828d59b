"""`argosy runs`, `show` and the tab key on a cluster."""

import json
import os
import socket
import time

import pytest


@pytest.fixture
def listed(argo, workflow, node):
    """Three runs of argosy's, the newest of which has not begun, and one of somebody else's."""
    for number, phase in enumerate(["Succeeded", "Failed", "Running"]):
        made = workflow(node("run.say", phase), phase=phase)
        made["metadata"] = {
            "name": f"greet-{number}",
            "creationTimestamp": f"2026-01-0{number + 1}T00:00:00Z",
            "labels": {"argosy/pipeline": "greet"},
        }
        argo.put(made)
    argo.put({"metadata": {"name": "else"}, "spec": {}, "status": {"phase": "Succeeded", "nodes": {"x": 3}}})
    argo.workflows["greet-2"]["status"] = {}


@pytest.mark.usefixtures("listed")
def test_runs_are_listed_newest_first_and_so_many(argosy):
    lines = argosy("runs", "-c").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["RUN", "greet-2", "greet-1", "greet-0"]
    assert [line.split()[2] for line in lines[1:]] == ["waiting", "failed", "succeeded"]
    few = argosy("runs", "-c", "-n", "1").stdout.splitlines()
    assert few[-1] == "2 older; -n 3 shows all"


@pytest.mark.usefixtures("listed")
def test_a_workflow_that_cannot_be_read_hides_no_other(argosy):
    told = json.loads(argosy("runs", "-c", "--all", "--json").stdout)
    assert {run["name"]: run["phase"] for run in told} == {
        "else": "Damaged",
        "greet-2": "Pending",
        "greet-1": "Failed",
        "greet-0": "Succeeded",
    }


def test_no_runs_at_all_is_said_with_the_command_that_makes_one(argosy):
    assert "yet; `argosy submit PIPELINE` makes one" in argosy("runs", "-c").stdout
    assert "there is no run of argosy's at http://" in argosy("show", "-c").stderr


@pytest.mark.usefixtures("listed")
def test_show_explains_the_newest_or_the_one_that_is_named_wherever_the_option_stands(argosy, argo):
    assert argosy("show", "-c").stdout.startswith("○ greet-2 waiting")
    for words in (["greet-0", "-c"], ["-c", "greet-0"], ["--cluster", "greet-0"]):
        told = argosy("show", *words).stdout
        assert told.startswith("✔ greet-0 succeeded")
        assert f"  page      http://{argo.address}/workflows/ml/greet-0\n" in told
    assert json.loads(argosy("show", "greet-0", "-c", "--json").stdout) == argo.workflows["greet-0"]


@pytest.mark.usefixtures("listed")
def test_an_unknown_run_suggests_the_nearest(argosy):
    done = argosy("show", "greet-00", "-c")
    assert done.returncode == 2
    assert done.stderr.startswith("argosy: there is no run 'greet-00'; did you mean greet-")


@pytest.mark.parametrize("command", ["show", "stop", "retry", "watch"])
def test_an_empty_name_is_no_run(argosy, command):
    done = argosy(command, "", *(() if command == "watch" else ("-c",)))
    assert done.returncode == 2
    assert "there is no run ''; " in done.stderr


def test_a_cluster_is_chosen_by_its_name(argosy, argo, running, project, monkeypatch):
    running(phase="Succeeded")
    monkeypatch.delenv("ARGO_SERVER")
    monkeypatch.setenv("ARGO_SECURE", "false")
    (project / "pyproject.toml").write_text(
        f'[tool.argosy.clusters.lab]\nserver = "http://{argo.address}"\n'
        '[tool.argosy.clusters.prod]\nserver = "http://127.0.0.1:9"\n'
    )
    told = argosy("show", "-c", "lab", "run").stdout
    assert told.startswith("✔ run succeeded")
    assert "argosy show run -c lab\n" in told
    assert "names several clusters; choose one with -c lab or -c prod" in argosy("show", "run", "-c").stderr


@pytest.mark.usefixtures("listed")
def test_the_shell_completes_the_runs_and_steps_of_a_cluster(completed):
    assert completed("show", "-c", "greet-") == ["greet-2", "greet-1", "greet-0"]
    assert completed("watch", "greet-") == ["greet-2", "greet-1", "greet-0"]
    assert completed("logs", "-c", "greet-0", "s") == ["say"]


@pytest.mark.parametrize("trouble", ["nobody listens", "nobody answers"])
def test_the_tab_key_does_not_hang_without_a_server(completed, argo, trouble, monkeypatch):
    argo.stop()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if trouble == "nobody answers":
            silent.listen()
        monkeypatch.setenv("ARGO_SERVER", f"127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        assert completed("show", "-c", "greet-") in ([], [""])
        assert time.monotonic() - began < 40, os.environ["ARGO_SERVER"]
