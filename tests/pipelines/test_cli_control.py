"""What can be done about a run: reading its logs, stopping it, going on with it."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.pipelines.comparison.again import MAKES_AGAIN

ARGOSY = Path(sys.executable).with_name("argosy")


# ---------------------------------------------------------------------------------------------- logs


def test_logs_of_all_steps_name_the_step_and_say_why_there_are_none(argosy):
    argosy("run", "greeting.yaml")
    assert argosy("logs").stdout == (
        "say | hello\ntell: logs unavailable: it did not run (when 'hello == tell' evaluated false)\n"
    )


def test_logs_that_were_deleted_are_said_to_be(argosy, project):
    argosy("run", "greeting.yaml")
    (log,) = project.glob(".argosy/runs/*/pods/*/main.log")
    log.write_text("")
    assert argosy("logs", "say").stdout == "say: it printed nothing\n"
    log.unlink()
    told = argosy("logs", "say").stdout
    assert told == f"say: logs unavailable: {log.relative_to(project)} was deleted\n"


def test_a_step_is_named_by_its_name_or_its_identifier_and_a_wrong_one_suggests_the_nearest(argosy):
    argosy("run", "greeting.yaml")
    nodes = json.loads(argosy("show", "--json").stdout)["status"]["nodes"]
    identifier = next(key for key, node in nodes.items() if node["displayName"] == "say")
    assert argosy("logs", "say").stdout == argosy("logs", identifier).stdout == "hello\n"
    done = argosy("logs", "sya")
    assert done.returncode == 2
    assert done.stderr.endswith("did you mean say?\n")


@pytest.mark.usefixtures("begun")
def test_following_prints_what_comes_and_ends_with_the_run(project):
    follower = subprocess.Popen([ARGOSY, "logs", "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert follower.stdout.readline() == "first | done\n"
    assert follower.stdout.readline() == "second | begun\n"
    (project / "go").touch()
    rest, errors = follower.communicate(timeout=30)
    assert rest == "second | over\n"
    assert re.fullmatch(r"run wait-\w+: succeeded\n", errors)


# ---------------------------------------------------------------------------------------------- stop, retry


def test_an_interrupt_ends_the_pods_says_how_to_retry_and_exits_with_130(argosy, begun, project):
    begun.send_signal(signal.SIGINT)
    said, _ = begun.communicate(timeout=30)
    assert begun.returncode == 130
    name = re.search(r"run (\S+)", said)[1]
    assert said.endswith(f"  next  argosy retry {name}\n        argosy show {name}\n")
    (project / "go").touch()
    done = argosy("retry")
    assert done.returncode == 0
    assert (project / "ran").read_text().split() == ["first", "second", "second"]


def test_a_run_that_was_interrupted_needs_no_stop(argosy, begun):
    begun.send_signal(signal.SIGINT)
    said, _ = begun.communicate(timeout=30)
    name = re.search(r"run (\S+)", said)[1]
    done = argosy("stop", name)
    assert done.returncode == 2
    assert f"run {name} has ended already; `argosy show {name}` tells how" in done.stderr


def test_a_run_that_made_a_model_again_is_passed_over_and_refused_by_its_name(argosy, project):
    text = (project / "failing.yaml").read_text()
    (project / "again.yaml").write_text(text.replace("metadata: {", f"metadata: {{annotations: {{{MAKES_AGAIN}: x}}, "))
    failed, again = argosy("run", "failing.yaml").run, argosy("run", "again.yaml").run
    assert argosy("retry").stdout.startswith(f"retrying {failed}\n")
    done = argosy("retry", again)
    assert done.returncode == 2
    assert f"run {again} was to make x again; `argosy reproduce x` does so anew" in done.stderr


def test_a_run_whose_runner_was_killed_is_interrupted_and_can_be_retried(argosy, begun, project):
    begun.kill()
    begun.wait()
    told = argosy("show").stdout
    assert told.splitlines()[0].endswith(" interrupted: its runner was killed")
    assert "argosy retry" in told
    (project / "go").touch()
    assert argosy("retry").returncode == 0
    assert argosy("show").stdout.startswith("✔")


def test_a_run_that_goes_on_elsewhere_is_not_run_a_second_time(argosy, begun):
    done = argosy("run", "waiting.yaml")
    name = json.loads(argosy("runs", "--json").stdout)[0]["name"]
    assert (done.returncode, done.stdout) == (2, "")
    told = rf"argosy: run {name} is running \(process {begun.pid}\); `argosy logs {name} --follow` follows it\n"
    assert re.fullmatch(told, done.stderr)
    assert re.fullmatch(told, argosy("retry").stderr)
    again = argosy("retry", name)
    assert again.returncode == 2
    assert "is running" in again.stderr


def test_stop_ends_the_newest_run_that_goes_on(argosy, begun):
    done = argosy("stop")
    assert done.returncode == 0
    assert "Stopped with strategy 'Stop'" in done.stdout
    assert begun.wait(30) == 1
    assert argosy("stop").stderr.startswith("argosy: there is no run to stop in ")


def test_the_shell_completes_runs_and_their_steps(argosy, completed):
    name = argosy("run", "greeting.yaml").run

    assert completed("show", "gre") == [name]
    assert completed("logs", name, "t") == ["tell"]
