"""`argosy stop`, `retry` and `resume` on a cluster: asked for until they are heard, once each."""

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


# ---------------------------------------------------------------------------------------------- resume


@pytest.fixture
def paused(running, node):
    """A run that waits for a person in two places."""
    return running(node("run.hold", "Running", "Suspend"), node("run.approval", "Running", "Suspend"))


@pytest.mark.usefixtures("paused")
def test_resume_ends_every_pause_by_its_identifier_and_follows_the_run(argosy, argo):
    done = argosy("resume", "run", "-c")
    assert done.returncode == 0
    assert "✔ run succeeded" in done.stdout
    nodes = argo.workflows["run"]["status"]["nodes"]
    asked = [one.body["nodeFieldSelector"] for one in argo.of("resume")]
    assert sorted(asked) == sorted(f"id={key}" for key in nodes if nodes[key]["type"] == "Suspend")


@pytest.mark.usefixtures("paused")
def test_resume_of_one_step_leaves_the_other_waiting(connected, argo, argosy):
    held_by = {node["displayName"]: key for key, node in argo.workflows["run"]["status"]["nodes"].items()}
    control.resume(connected, "run", held_by["hold"])
    assert "approval waits for a person" in argosy("show", "run", "-c").stdout


@pytest.mark.usefixtures("paused")
def test_a_resume_whose_answer_is_lost_is_not_refused_because_it_was_heard(connected, argo):
    nodes = argo.workflows["run"]["status"]["nodes"]
    hold = next(key for key, node in nodes.items() if node["displayName"] == "hold")

    def loses_the_answer(handler):
        nodes[hold]["phase"] = "Succeeded"
        resets(handler)

    argo.faults["resume"].append(loses_the_answer)
    control.resume(connected, "run", hold)
    assert nodes[hold]["phase"] == "Succeeded"


def test_a_resume_that_argo_refuses_is_told(connected, argo, paused):
    hold = next(key for key, node in paused["status"]["nodes"].items() if node["displayName"] == "hold")
    argo.faults["resume"].append(lambda handler: handler.say(403, {"code": 7, "message": "not yours"}))
    with pytest.raises(ClusterError, match="not yours"):
        control.resume(connected, "run", hold)


def test_what_waits_for_nobody_is_not_resumed(argosy, argo, running, node):
    running(node("run.say", "Running"))
    done = argosy("resume", "run", "-c")
    assert (done.returncode, argo.of("resume")) == (2, [])
    assert done.stderr == "argosy: run run waits for nobody: its phase is Running\n"


@pytest.mark.usefixtures("paused")
def test_a_run_that_waits_for_a_person_says_so_and_how_to_go_on(argosy):
    told = argosy("show", "run", "-c").stdout
    assert told.startswith("⏸ run held: hold, approval wait for a person\n")
    assert "argosy resume run -c" in told
    assert "argosy stop run -c" in told


def test_a_run_in_which_others_go_on_is_running_and_its_pause_is_held(argosy, running, node):
    running(node("run.hold", "Running", "Suspend"), node("run.say", "Running"))
    told = argosy("show", "run", "-c").stdout
    assert told.startswith("● run running")
    assert "⏸ hold  held" in told
