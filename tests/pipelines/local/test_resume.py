"""What a resumed run keeps, and what it runs again."""

import json
from collections import Counter

import pytest

from argosy.pipelines.local.runner import LocalRuns, RunError

FLAG = "test -e /flags/ok"
"""Fails until the test lets it pass."""


@pytest.fixture
def project(tmp_path):
    """`project.fails(spec)` runs a spec that fails, `project.resumes()` lets it pass and goes on."""

    class Project:
        def __init__(self):
            self.runs = LocalRuns(tmp_path)
            self.flags = self.runs.home.claims / "flags"
            self.flags.mkdir(parents=True)

        def fails(self, spec):
            manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"generateName": "r-"}}
            submission = self.runs.prepare(json.dumps({**manifest, "spec": spec}), {})
            self.folder = self.runs.home.run(submission.name)
            status = self.runs.start(submission, lambda _: None)
            assert status.phase in ("Failed", "Error")
            return status

        def resumes(self):
            (self.flags / "ok").touch()
            status = self.runs.resume(self.folder, lambda _: None)
            assert status.phase == "Succeeded", status.message
            return status

        def ran(self):
            """How often each pod ran: each leaves its name in a file of the project."""
            return Counter((self.flags / "ran").read_text().split())

        def said(self):
            return (self.flags / "said").read_text().split()

    return Project()


def pod(name, script="true", **fields):
    """A template that notes that it ran, then runs its script."""
    source = f"echo {name} >> /flags/ran\n{script}\n"
    mounts = [{"name": "flags", "mountPath": "/flags"}]
    script = {"image": "x", "command": ["sh", "-e"], "source": source, "volumeMounts": mounts}
    return {"name": name, "script": script} | fields


def dag(name, *tasks, **fields):
    return {"name": name, "dag": {"tasks": list(tasks)}} | fields


def task(name, after=None, **fields):
    return {"name": name, "template": name} | ({"depends": after} if after else {}) | fields


def spec(*templates, **fields):
    volumes = [{"name": "flags", "persistentVolumeClaim": {"claimName": "flags"}}]
    return {"entrypoint": "main", "volumes": volumes, "templates": list(templates)} | fields


def test_what_succeeded_is_kept_and_what_failed_runs_again_with_what_follows(project):
    tasks = [task("a"), task("b", "a"), task("c", "b"), task("d", "a")]
    project.fails(spec(pod("a"), pod("b", FLAG), pod("c"), pod("d"), dag("main", *tasks)))
    project.resumes()
    assert project.ran() == {"a": 1, "b": 2, "c": 1, "d": 1}


def test_what_ran_because_a_step_failed_is_forgotten_when_that_step_runs_again(project):
    tasks = [task("a"), task("sorry", "a.Failed"), task("b", "a")]
    project.fails(spec(pod("a", FLAG), pod("sorry"), pod("b"), dag("main", *tasks)))
    status = project.resumes()
    phases = {node.display_name: node.phase for node in status.nodes.values()}
    assert (phases["sorry"], phases["b"]) == ("Omitted", "Succeeded")


def test_a_loop_runs_only_its_failed_items_again(project):
    item = pod("item", "test {{inputs.parameters.n}} != 2 || " + FLAG, inputs={"parameters": [{"name": "n"}]})
    given = {"arguments": {"parameters": [{"name": "n", "value": "{{item}}"}]}, "withItems": [1, 2, 3]}
    project.fails(spec(item, dag("main", task("item", **given))))
    status = project.resumes()
    assert project.ran() == {"item": 4}
    (group,) = [node for node in status.nodes.values() if node.type == "TaskGroup"]
    assert len(group.children) == 3


def test_groups_of_steps_go_on_where_they_failed(project):
    steps = [[task("a")], [task("b"), task("c")], [task("d")]]
    main = {"name": "main", "steps": steps}
    project.fails(spec(pod("a"), pod("b"), pod("c", FLAG), pod("d"), main))
    project.resumes()
    assert project.ran() == {"a": 1, "b": 1, "c": 2, "d": 1}


def test_a_nested_dag_keeps_what_it_has(project):
    inner = dag("inner", task("a"), task("b", "a"))
    project.fails(spec(pod("a"), pod("b", FLAG), pod("c"), inner, dag("main", task("inner"), task("c", "inner"))))
    status = project.resumes()
    assert project.ran() == {"a": 1, "b": 2, "c": 1}
    assert {node.boundary_id in status.nodes for node in status.nodes.values() if node.boundary_id} == {True}


def test_a_failure_that_a_finished_dag_tolerated_is_not_dug_up(project):
    inner = dag("inner", task("may", continueOn={"failed": True}))
    tasks = [task("inner"), task("b", "inner"), task("c", "b")]
    project.fails(spec(pod("may", "exit 1"), pod("b"), pod("c", FLAG), inner, dag("main", *tasks)))
    project.resumes()
    assert project.ran() == {"may": 1, "b": 1, "c": 2}


def test_a_step_that_used_up_its_attempts_gets_them_anew(project):
    retried = pod("a", FLAG, retryStrategy={"limit": 1})
    project.fails(spec(retried, dag("main", task("a"))))
    status = project.resumes()
    assert project.ran() == {"a": 3}
    (retry,) = [node for node in status.nodes.values() if node.type == "Retry"]
    assert len(retry.children) == 1


def test_nothing_is_left_of_the_attempts_that_are_run_anew(project):
    inner = dag("inner", task("a"), task("b", "a"), retryStrategy={"limit": 1})
    project.fails(spec(pod("a"), pod("b", FLAG), inner, dag("main", task("inner"))))
    status = project.resumes()
    assert [node.name for node in status.nodes.values() if "(1)" in node.name] == []


@pytest.mark.parametrize("kind", ["dag", "retried", "plain"])
def test_the_workflows_exit_handler_runs_again_whatever_it_is_made_of(project, kind):
    fields = {"retryStrategy": {"limit": 1}} if kind == "retried" else {}
    bye = pod("bye", "echo {{workflow.status}} >> /flags/said", **fields)
    handler = dag("handler", task("bye")) if kind == "dag" else {**bye, "name": "handler"}
    project.fails(spec(pod("a", FLAG), bye, handler, dag("main", task("a")), onExit="handler"))
    project.resumes()
    assert project.said() == ["Failed", "Succeeded"]


def test_a_steps_exit_handler_runs_again_with_its_step(project):
    bye = pod("bye", "echo {{inputs.parameters.how}} >> /flags/said", inputs={"parameters": [{"name": "how"}]})
    handler = dag(
        "handler",
        task("bye", arguments={"parameters": [{"name": "how", "value": "{{inputs.parameters.how}}"}]}),
        inputs={"parameters": [{"name": "how"}]},
    )
    hook = {"template": "handler", "arguments": {"parameters": [{"name": "how", "value": "{{tasks.a.status}}"}]}}
    project.fails(spec(pod("a", FLAG), bye, handler, dag("main", task("a", hooks={"exit": hook}))))
    project.resumes()
    assert project.said() == ["Failed", "Succeeded"]


def test_outputs_of_the_workflow_are_known_again(project):
    value = {"name": "g", "globalName": "G", "valueFrom": {"path": "/tmp/g"}}
    giver = pod("a", "echo seven > /tmp/g", outputs={"parameters": [value]})
    taker = pod("b", "echo {{workflow.outputs.parameters.G}} >> /flags/said; " + FLAG)
    project.fails(spec(giver, taker, dag("main", task("a"), task("b", "a"))))
    status = project.resumes()
    assert project.said() == ["seven", "seven"]
    assert [(one.name, one.value) for one in status.outputs.parameters] == [("G", "seven")]


def test_a_step_that_runs_again_goes_on_in_its_log(project):
    project.fails(spec(pod("a", "echo printed; " + FLAG), dag("main", task("a"))))
    project.resumes()
    (log,) = project.folder.pods.glob("*/main.log")
    assert log.read_text() == "printed\nprinted\n"


def test_a_run_that_succeeded_cannot_be_resumed(project):
    (project.flags / "ok").touch()
    with pytest.raises(AssertionError):
        project.fails(spec(pod("a", FLAG), dag("main", task("a"))))
    with pytest.raises(RunError, match="nothing to retry"):
        project.runs.resume(project.folder, lambda _: None)
