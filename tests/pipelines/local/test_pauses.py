"""Suspend templates: a run that waits for a person, or for a while."""

import json
import os
import signal
from collections import Counter

import pytest

from argosy.pipelines.local.runner import LocalRuns, RunError
from argosy.pipelines.runs import view


@pytest.fixture
def project(tmp_path):
    """`project.run(spec)` runs a spec until it ends or waits; `project.ran()` tells which pods ran how often."""

    class Project:
        def __init__(self):
            self.runs = LocalRuns(tmp_path)
            self.notes = self.runs.home.claims / "notes"
            self.notes.mkdir(parents=True)

        def run(self, spec, observer=lambda _: None):
            manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"generateName": "r-"}}
            submission = self.runs.prepare(json.dumps({**manifest, "spec": spec}), {})
            self.folder = self.runs.home.run(submission.name)
            return self.runs.start(submission, observer)

        def release(self, step=None):
            return self.runs.release(self.folder, step, lambda _: None)

        def ran(self):
            return Counter((self.notes / "ran").read_text().split())

        def view(self):
            return view(self.folder.workflow(), is_abandoned=True)

    return Project()


def pod(name, script="true"):
    """A template that notes that it ran, then runs its script."""
    mounts = [{"name": "notes", "mountPath": "/notes"}]
    source = f"echo {name} >> /notes/ran\n{script}\n"
    return {"name": name, "script": {"image": "x", "command": ["sh", "-e"], "source": source, "volumeMounts": mounts}}


def task(name, after=None, template=None, **fields):
    return {"name": name, "template": template or name} | ({"depends": after} if after else {}) | fields


def spec(*templates, **fields):
    volumes = [{"name": "notes", "persistentVolumeClaim": {"claimName": "notes"}}]
    pause = {"name": "pause", "suspend": {}}
    return {"entrypoint": "main", "volumes": volumes, "templates": [pause, *templates]} | fields


def dag(*tasks, name="main", **fields):
    return {"name": name, "dag": {"tasks": list(tasks)}} | fields


def phases(status):
    return {node.display_name: node.phase for node in status.nodes.values()}


ONE = spec(
    pod("a"), pod("b"), pod("c"), dag(task("a"), task("ask", "a", "pause"), task("b", "ask"), task("c", "a"))
)  # fmt: skip


def test_a_pause_holds_what_comes_after_it_and_nothing_else(project):
    status = project.run(ONE)
    assert (status.phase, status.finished_at) == ("Running", None)
    assert project.ran() == {"a": 1, "c": 1}
    assert phases(status)["ask"] == "Running"
    assert "b" not in phases(status)
    assert (project.view().phase, project.view().message) == ("Held", "ask waits for a person")
    assert project.folder.runner() is None


def test_a_released_run_goes_on_where_it_waited_and_runs_nothing_twice(project):
    project.run(ONE)
    status = project.release()
    assert status.phase == "Succeeded"
    assert project.ran() == {"a": 1, "b": 1, "c": 1}
    (ask,) = [node for node in status.nodes.values() if node.display_name == "ask"]
    assert (ask.type, ask.phase, ask.progress) == ("Suspend", "Succeeded", "1/1")
    assert ask.message.startswith("Resumed by: ")
    assert status.progress == "4/4"


def test_a_run_that_has_ended_waits_for_nobody(project):
    project.run(ONE)
    project.release()
    with pytest.raises(RunError, match="waits for nobody: its phase is Succeeded"):
        project.release()


def test_of_two_pauses_the_one_that_is_named_ends(project):
    tasks = [task("one", template="pause"), task("two", template="pause"), task("a", "one"), task("b", "two")]
    project.run(spec(pod("a"), pod("b"), dag(*tasks)))
    status = project.release("two")
    assert (status.phase, phases(status)["one"], phases(status)["b"]) == ("Running", "Running", "Succeeded")
    assert project.view().message == "one waits for a person"
    with pytest.raises(RunError, match=r"no step 'tow' of run .* waits for a person; those that do are one"):
        project.release("tow")
    assert project.release("one").phase == "Succeeded"


@pytest.mark.parametrize(("answer", "phase"), [("pass", "Succeeded"), ("inconclusive", "Running")])
def test_a_pause_whose_condition_is_false_is_skipped_and_holds_nothing(project, answer, phase):
    gate = pod("gate", f"printf {answer} > /tmp/answer")
    gate["outputs"] = {"parameters": [{"name": "answer", "valueFrom": {"path": "/tmp/answer"}}]}
    when = '"{{tasks.gate.outputs.parameters.answer}}" == "inconclusive"'
    tasks = [
        task("gate"),
        task("hold", "gate.Succeeded", "pause", when=when),
        task("b", "gate.Succeeded && (hold.Succeeded || hold.Skipped)"),
    ]
    status = project.run(spec(gate, pod("b"), dag(*tasks)))
    assert status.phase == phase
    assert phases(status)["hold"] == {"pass": "Skipped", "inconclusive": "Running"}[answer]
    assert ("b" in phases(status)) == (answer == "pass")


def test_a_run_that_fails_beside_a_pause_has_failed_only_once_the_pause_is_over(project):
    """As in Argo, whose DAG is running while one of its tasks is (workflow/controller/dag.go:134)."""
    held = spec(pod("bad", "exit 3"), pod("b"), dag(task("bad"), task("ask", template="pause"), task("b", "ask")))
    assert project.run(held).phase == "Running"
    assert project.release().phase == "Failed"
    assert project.ran() == {"bad": 1, "b": 1}


# ---------------------------------------------------------------------------------------------- where pauses stand


def test_in_steps_the_next_group_waits(project):
    steps = {"name": "main", "steps": [[task("a"), task("ask", template="pause")], [task("b")]]}
    project.run(spec(pod("a"), pod("b"), steps))
    assert project.ran() == {"a": 1}
    assert project.release().phase == "Succeeded"
    assert project.ran() == {"a": 1, "b": 1}


def test_in_a_dag_of_a_dag_both_wait(project):
    inner = dag(task("a"), task("ask", "a", "pause"), name="inner")
    project.run(spec(pod("a"), pod("b"), inner, dag(task("inner"), task("b", "inner"))))
    assert project.ran() == {"a": 1}
    assert project.release().phase == "Succeeded"
    assert project.ran() == {"a": 1, "b": 1}


def test_in_a_loop_each_item_waits(project):
    each = dag(task("ask", template="pause"), task("a", "ask"), name="each")
    project.run(spec(pod("a"), pod("b"), each, dag(task("loop", template="each", withItems=[1, 2]), task("b", "loop"))))
    assert len(project.view().message.split(",")) == 2
    assert project.release().phase == "Succeeded"
    assert project.ran() == {"a": 2, "b": 1}


def test_what_is_retried_waits_within_its_attempt(project):
    inner = dag(task("ask", template="pause"), task("a", "ask"), name="inner", retryStrategy={"limit": "1"})
    project.run(spec(pod("a", "exit 3"), inner, dag(task("inner"))))
    status = project.release()  # the first attempt fails now, and the second asks anew
    assert (status.phase, project.view().phase) == ("Running", "Held")
    assert project.release().phase == "Failed"
    assert project.ran() == {"a": 2}


def test_edges_leave_from_a_pause_as_they_do_from_a_pod(project):
    project.run(spec(pod("a"), dag(task("a"), task("ask", "a", "pause"))))
    nodes = {node.display_name: node for node in project.release().nodes.values()}
    assert nodes[project.folder.name].outbound_nodes == [nodes["ask"].id]


def test_an_input_shows_what_the_person_must_know(project):
    pause = {"name": "told", "suspend": {}, "inputs": {"parameters": [{"name": "summary"}]}}
    told = task("told", arguments={"parameters": [{"name": "summary", "value": "0.93 of 0.95"}]})
    status = project.run(spec(pause, dag(told)))
    (node,) = [node for node in status.nodes.values() if node.type == "Suspend"]
    assert node.inputs.parameter("summary") == "0.93 of 0.95"


# ---------------------------------------------------------------------------------------------- the no


def test_stopping_is_the_no_and_the_exit_handler_runs(project):
    project.run({**ONE, "templates": [*ONE["templates"], pod("bye")], "onExit": "bye"})
    assert "bye" not in project.ran()
    status = project.runs.stop(project.folder)
    assert (status.phase, status.message) == ("Failed", "Stopped with strategy 'Stop'")
    assert (phases(status)["ask"], phases(status)["b"]) == ("Failed", "Omitted")
    assert project.ran() == {"a": 1, "c": 1, "bye": 1}


def test_a_person_who_said_no_is_asked_again_when_the_run_is_retried(project):
    project.run(ONE)
    project.runs.stop(project.folder)
    assert project.runs.resume(project.folder, lambda _: None).phase == "Running"
    assert project.view().phase == "Held"
    assert project.release().phase == "Succeeded"
    assert project.ran() == {"a": 1, "b": 1, "c": 1}


def test_a_stop_that_comes_while_others_run_ends_the_pause_too(project):
    def stop(status):
        nodes = {node.display_name: node for node in status.nodes.values()}
        is_asked = "ask" in nodes and nodes["ask"].phase == "Running"
        if is_asked and "slow" in nodes and nodes["slow"].phase == "Running" and not sent:
            sent.append(os.kill(os.getpid(), signal.SIGTERM))

    sent: list[None] = []
    tasks = [task("ask", template="pause"), task("slow"), task("b", "ask")]
    status = project.run(spec(pod("slow", "sleep 600"), pod("b"), dag(*tasks)), stop)
    assert status.phase == "Failed"
    assert {phases(status)[name] for name in ("ask", "slow")} == {"Failed"}


# ---------------------------------------------------------------------------------------------- pauses with a duration


def test_a_pause_for_a_while_ends_by_itself(project):
    timed = {"name": "timed", "suspend": {"duration": "1"}}
    status = project.run(spec(timed, pod("b"), dag(task("timed"), task("b", "timed"))))
    assert (status.phase, project.ran()) == ("Succeeded", {"b": 1})


def test_a_pause_for_a_while_waits_for_nobody_and_can_be_stopped(project):
    seen = []

    def stop(status):
        timed = [node for node in status.nodes.values() if node.type == "Suspend" and node.phase == "Running"]
        if timed and not seen:
            seen.append(view(project.folder.workflow(), status).phase)
            os.kill(os.getpid(), signal.SIGTERM)

    timed = {"name": "timed", "suspend": {"duration": "10m"}}
    status = project.run(spec(timed, pod("b"), dag(task("timed"), task("b", "timed"))), stop)
    assert (seen, status.phase) == (["Running"], "Failed")
    assert not (project.notes / "ran").exists()


def test_a_duration_that_is_none_is_refused_before_anything_starts(project):
    timed = {"name": "timed", "suspend": {"duration": "a while"}}
    with pytest.raises(RunError, match=r"templates\.timed\.suspend\.duration: 'a while' is no duration"):
        project.run(spec(timed, dag(task("timed"))))


def test_a_duration_that_only_the_run_can_tell_and_is_none_ends_in_error(project):
    timed = {
        "name": "timed",
        "suspend": {"duration": "{{inputs.parameters.d}}"},
        "inputs": {"parameters": [{"name": "d"}]},
    }
    told = task("timed", arguments={"parameters": [{"name": "d", "value": "a while"}]})
    status = project.run(spec(timed, dag(told)))
    assert (status.phase, phases(status)["timed"]) == ("Error", "Error")


def test_a_pause_with_a_limit_is_refused_before_anything_starts(project):
    with pytest.raises(RunError, match="timeout: a pause with a limit cannot be had on one machine"):
        project.run(spec({"name": "short", "suspend": {}, "timeout": "1m"}, dag(task("short"))))
