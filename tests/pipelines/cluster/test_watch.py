"""`argosy watch`: what `argosy run` shows, over lost connections, and without a hand on the run."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from argosy.pipelines.cluster import following
from argosy.pipelines.cluster.errors import ClusterError, LostError, MissingError
from argosy.pipelines.cluster.following import follow

ARGOSY = Path(sys.executable).with_name("argosy")


@pytest.fixture
def watching(project, argo, running, node, wait_for):  # noqa: ARG001 - it is the working directory
    """`argosy watch` that watches a run of which one step runs."""
    running(node("run.say", "Running"))
    words = [ARGOSY, "watch", "run"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: argo.of("events"))
    yield process
    process.kill()
    process.communicate()


def ended(process):
    out, errors = process.communicate(timeout=120)
    return [re.sub(r"^ +\d+\.\ds  ", "", line) for line in out.splitlines()], errors, process.returncode


def test_a_run_is_told_as_a_local_one_and_ends_with_its_exit_code(watching, running, node):
    running(node("run.say"), node("run.gate", "Failed", code=80, message="main: Error (exit code 80)"), phase="Failed")
    lines, errors, code = ended(watching)
    assert (code, errors) == (3, "")
    assert lines[:3] == ["say: running", "say: succeeded in 1s", "gate: failed, main: Error (exit code 80)"]
    assert "a gate said no, nothing was published" in lines[4]


def test_a_run_that_is_over_is_told_at_once(argosy, argo, running, node):
    running(node("run.say"), phase="Succeeded")
    done = argosy("watch", "run", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["phase"], told["namespace"]) == ("Succeeded", "ml")
    assert argo.of("events") == []


def test_a_server_that_is_restarted_is_found_again_and_that_is_said_once(watching, argo, running, node):
    argo.stop()
    running(node("run.say"), phase="Succeeded")  # while nobody watches
    assert watching.stdout.readline().endswith("say: running\n")
    assert watching.stdout.readline().endswith("connection lost, trying again\n")
    argo.restart()
    lines, _, code = ended(watching)
    assert code == 0
    assert lines[0] == "say: succeeded in 1s"
    assert "connection lost, trying again" not in lines


def test_ctrl_c_leaves_the_run_alone_and_says_how_to_stop_it(watching, argo):
    watching.send_signal(signal.SIGINT)
    _, errors, code = ended(watching)
    assert code == 130
    assert errors == "run run goes on; `argosy stop run -c` stops it\n"
    assert argo.of("stop") == []


def test_a_run_that_is_deleted_meanwhile_ends_the_watch_with_one_line(watching, argo):
    argo.put(argo.workflows["run"], "DELETED")
    _, errors, code = ended(watching)
    assert code == 2
    assert re.fullmatch(r'argosy: http\S+ workflows.argoproj.io "run" not found\n', errors)


def test_submit_can_watch(argosy, argo, node, workflow):
    def succeeds(made):
        made["status"] = workflow(node("run.say"), phase="Succeeded")["status"]

    argo.on_create = succeeds
    done = argosy("submit", "greeting.yaml", "--watch")
    assert done.returncode == 0
    assert " submitted to " in done.stdout
    assert "  ✔ say  succeeded" in done.stdout


def test_a_run_that_no_controller_has_seen_yet_waits(argosy, argo, workflow):
    argo.put({**workflow(), "status": {"startedAt": None, "finishedAt": None}})
    assert argosy("show", "run", "-c").stdout.startswith("○ run waiting")


# ---------------------------------------------------------------------------------------------- streams


def breaks_off_in_an_event(handler):
    handler.begin_stream()
    handler.chunk(b'data: {"result": {"type": "MODIFIED", "obj')
    handler.break_off()


def ends_with_an_error(handler):
    """As Argo's server does when Kubernetes ends its own watch."""
    handler.begin_stream()
    handler.chunk(
        b'data: {"error":{"grpc_code":8,"http_code":429,"message":"EOF","http_status":"Too Many Requests"}}\n'
    )
    handler.chunk(b"")


def is_refused_as_too_old(handler):
    handler.say(500, {"code": 13, "message": "too old resource version: 1 (9)"})


def ends(handler):
    handler.begin_stream()
    handler.chunk(b"")


BREAKS = [breaks_off_in_an_event, ends_with_an_error, is_refused_as_too_old, ends]


@pytest.mark.parametrize("fault", BREAKS, ids=lambda one: one.__name__)
def test_a_stream_that_ends_too_early_is_begun_again_with_what_has_happened_meanwhile(
    connected, argo, running, node, fault
):
    running(node("run.say", "Running"))

    def faulty(handler):
        running(node("run.say"), phase="Succeeded")
        fault(handler)

    argo.faults["events"].append(faulty)
    lost = []
    phases = [one["status"]["phase"] for one in follow(connected, "run", lambda: lost.append(1))]
    assert phases == ["Running", "Succeeded"]
    assert len(lost) == (fault is not ends)


def test_a_large_run_is_read_as_fast_as_it_comes(connected, argo, running, node):
    running(node("run.say", "Running"))

    def grows(_):
        running(node("run.say", message="x" * 6_000_000), phase="Succeeded")
        return True

    argo.faults["events"].append(grows)
    began = time.process_time()  # whoever else is busy does not count
    assert [one["status"]["phase"] for one in follow(connected, "run", lambda: None)] == ["Running", "Succeeded"]
    assert time.process_time() - began < 5


def test_a_connection_that_stays_lost_is_given_up(connected, argo, running, monkeypatch):
    running()
    monkeypatch.setattr(following, "GIVEN_UP_AFTER_SECONDS", 1)
    argo.faults["events"].append(lambda handler: (argo.stop(), handler.break_off()))
    with pytest.raises(LostError, match="no answer"):
        list(follow(connected, "run", lambda: None))


def test_a_token_that_expires_meanwhile_is_told_and_not_tried_again(connected, argo, running):
    running()
    argo.faults["events"].append(ends)
    argo.faults["get"] += [lambda _: True, lambda handler: handler.say(401, {"message": "token not valid"})]
    with pytest.raises(ClusterError, match="token not valid; the token is from ARGO_TOKEN"):
        list(follow(connected, "run", lambda: None))
    assert len(argo.of("get")) == 2


def test_a_run_that_is_not_there_is_told_as_such(connected):
    with pytest.raises(MissingError):
        list(follow(connected, "nope", lambda: None))
