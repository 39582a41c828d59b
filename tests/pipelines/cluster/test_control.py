"""`argosy stop` and `argosy retry` on a cluster: asked for until they are heard, once each."""

import json

import pytest
from fakeargo import resets

from argosy.pipelines.cluster import control
from argosy.pipelines.cluster.errors import ClusterError

pytestmark = pytest.mark.filterwarnings("ignore:The `json` method is deprecated")  # Hera's service uses it


def test_stop_waits_until_the_run_is_over_and_says_so(argosy, running, node):
    running(node("run.say", "Running"))
    done = argosy("stop", "run", "-c")
    assert done.returncode == 0
    assert done.stdout.startswith("stopping run; its pods end first\n\n✖ run failed")
    assert "Stopped with strategy 'Stop'" in done.stdout


def test_a_run_that_is_over_is_stopped_already(argosy, argo, running):
    running(phase="Succeeded")
    done = argosy("stop", "run", "-c")
    assert done.returncode == 0
    assert done.stdout.startswith("run run is over already\n")
    assert argo.of("stop") == []


def test_a_run_that_ends_while_its_end_is_asked_for_is_no_error(connected, running):
    running(phase="Succeeded")
    control.stop(connected, "run")


def test_a_stop_whose_answer_is_lost_is_asked_for_again(connected, argo, running):
    running()
    argo.faults["stop"] += [resets, lambda handler: handler.say(503, {"message": "later"})]
    control.stop(connected, "run")
    assert len(argo.of("stop")) == 3
    assert argo.workflows["run"]["status"]["phase"] == "Failed"


def test_retry_goes_on_with_a_run_and_follows_it(argosy, argo, running, node):
    running(node("run.say", "Failed"), phase="Failed")

    def succeeds(handler):
        running(node("run.say"), phase="Succeeded")
        handler.say(200, argo.workflows["run"])

    argo.faults["retry"].append(succeeds)
    done = argosy("retry", "run", "-c", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["phase"] == "Succeeded"
    assert "retrying run" in done.stderr


def test_a_retry_whose_answer_is_lost_is_not_refused_because_it_was_heard(connected, argo, running):
    running(phase="Failed")

    def loses_the_answer(handler):
        running(phase="Running")
        resets(handler)

    argo.faults["retry"].append(loses_the_answer)
    control.retry(connected, "run")
    assert len(argo.of("retry")) == 2


def test_a_retry_that_was_heard_is_followed_though_the_server_goes_away_meanwhile(argosy, argo, running, node):
    running(node("run.say", "Failed"), phase="Failed")

    def succeeds(handler):
        running(node("run.say"), phase="Succeeded")
        handler.say(200, argo.workflows["run"])

    argo.faults["retry"].append(succeeds)
    argo.faults["get"] += [lambda _: True, *[resets] * 4]
    assert argosy("retry", "run", "-c").returncode == 0


@pytest.mark.parametrize("phase", ["Succeeded", "Running"])
def test_what_argo_says_of_a_run_that_cannot_go_on_is_told(connected, running, phase):
    running(phase=phase)
    with pytest.raises(ClusterError, match=f"Cannot retry a workflow in phase {phase}"):
        control.retry(connected, "run")


@pytest.mark.parametrize("command", ["stop", "retry"])
def test_on_a_cluster_a_run_is_never_guessed(argosy, argo, running, command):
    running()
    done = argosy(command, "-c")
    assert done.returncode == 2
    assert "name the run: the newest may be another person's" in done.stderr
    assert argo.of(command) == []
