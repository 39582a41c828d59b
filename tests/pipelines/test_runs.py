"""The tree of steps that a run's nodes add up to."""

import random

import pytest

from argosy.pipelines.runs import view
from argosy.pipelines.status import INTERRUPTED


def outline(steps):
    """Names alone: a step with children is a pair."""
    return [(step.name, outline(step.children)) if step.children else step.name for step in steps]


def test_steps_come_in_the_order_in_which_they_began(node, workflow):
    nodes = [node("run.c", start=2), node("run.a", start=9), node("run.b", start=0)]
    assert outline(view(workflow(*nodes)).steps) == ["b", "c", "a"]


def test_steps_that_began_in_one_second_follow_the_edges_whatever_the_order_of_the_json(node, workflow):
    names = ["run.stage", "run.train", "run.accuracy", "run.publish"]
    nodes = [node(name, start=5, children=names[index + 1 : index + 2]) for index, name in enumerate(names)]
    random.Random(7).shuffle(nodes)
    run = view(workflow(node("run", kind="DAG", children=["run.stage"]), *nodes))
    assert outline(run.steps) == ["stage", "train", "accuracy", "publish"]


def test_an_entrypoint_that_is_a_pod_is_the_one_step(node, workflow):
    assert outline(view(workflow(node("run", template="hello"))).steps) == ["hello"]


def test_groups_of_steps_are_not_shown(node, workflow):
    nodes = [
        node("run[0]", kind="StepGroup"),
        node("run[0].a"),
        node("run[1]", kind="StepGroup"),
        node("run[1].b", start=1),
    ]
    assert outline(view(workflow(*nodes, kind="Steps")).steps) == ["a", "b"]


def test_items_stand_under_their_loop(node, workflow):
    nodes = [node("run.fan", kind="TaskGroup"), node("run.fan(0:a)"), node("run.fan(1:x(0))", start=1)]
    (fan,) = view(workflow(*nodes)).steps
    assert outline([fan]) == [("fan", ["fan(0:a)", "fan(1:x(0))"])]


@pytest.mark.parametrize(
    ("phases", "whole"),
    [
        (("Succeeded", "Failed"), "Failed"),
        (("Failed", "Running"), "Running"),
        (("Succeeded", "Skipped"), "Succeeded"),
        (("Pending", "Pending"), "Running"),
    ],
)
def test_a_loop_in_steps_has_no_node_and_is_shown_all_the_same(node, workflow, phases, whole):
    items = [node(f"run[0].fan({index}:x)", phase) for index, phase in enumerate(phases)]
    (fan,) = view(workflow(node("run[0]", kind="StepGroup"), *items, kind="Steps", phase="Running")).steps
    assert (fan.name, fan.is_loop, fan.phase, len(fan.children)) == ("fan", True, whole, 2)


def test_a_run_that_is_over_has_no_step_that_goes_on(node, workflow):
    """Argo leaves steps of a stopped run as they were."""
    (train,) = view(workflow(node("run.train", "Running"), phase="Failed")).steps
    assert train.phase == "Interrupted"


@pytest.mark.parametrize("phase", ["Failed", "Succeeded", "Running"])
def test_a_step_that_a_stopped_run_left_between_two_attempts_ended_as_the_last_one_did(node, workflow, phase):
    nodes = [node("run.train", "Running", kind="Retry"), node("run.train(0)", phase, message="stopped by SIGTERM")]
    run = view(workflow(*nodes, phase="Failed", message="Stopped with strategy 'Stop'"))
    (train,) = run.steps
    assert train.phase == {"Running": "Interrupted"}.get(phase, phase)
    assert [step.reason for step in run.failures()] == ([] if phase == "Succeeded" else ["stopped by SIGTERM"])
    assert view(workflow(*nodes, phase="Running")).steps[0].phase == "Running"


def test_attempts_stand_under_the_step_and_the_last_one_counts(node, workflow):
    attempts = [node("run.train(0)", "Failed", start=1), node("run.train(1)", start=3)]
    (train,) = view(workflow(node("run.train", kind="Retry"), *attempts)).steps
    assert outline([train]) == [("train", ["train(0)", "train(1)"])]
    assert train.pod.name == "run.train(1)"
    assert [leaf.name for leaf in view(workflow(node("run.train", kind="Retry"), *attempts)).leaves()] == ["train"]


def test_attempts_are_called_as_their_step_is(node, workflow):
    run = view(workflow(node("run.a", kind="Retry"), node("run.a(0)", "Failed"), node("run.a(1)"), node("run.b")))
    assert run.names() == ["a", "b"]


def test_an_item_of_a_loop_that_was_retried_stays_in_the_loop(node, workflow):
    nodes = [node("run.fan", kind="TaskGroup"), node("run.fan(0:a)", kind="Retry"), node("run.fan(0:a)(0)")]
    assert outline(view(workflow(*nodes)).steps) == [("fan", [("fan(0:a)", ["fan(0:a)(0)"])])]


def test_a_loop_within_an_item_of_a_loop_stands_there(node, workflow):
    inner = {"boundary": "run.a(0:x)"}
    nodes = [
        node("run.a", kind="TaskGroup"),
        node("run.a(0:x)", kind="DAG"),
        node("run.a(0:x).b", kind="TaskGroup", **inner),
        node("run.a(0:x).b(0:y)", **inner),
    ]
    assert outline(view(workflow(*nodes)).steps) == [("a", [("a(0:x)", [("b", ["b(0:y)"])])])]


def test_the_exit_handler_comes_last_and_is_named_so(node, workflow):
    run = view(workflow(node("run.a", start=1), node("run.onExit", start=2, boundary=None)))
    assert outline(run.steps) == ["a", "exit handler"]


def test_what_nobody_works_on_any_more_is_interrupted(node, workflow):
    document = workflow(node("run.a"), node("run.b", "Running"), phase="Running")
    alive, dead = view(document), view(document, is_abandoned=True)
    assert (alive.phase, dead.phase) == ("Running", INTERRUPTED)
    assert [step.phase for step in dead.steps] == ["Succeeded", INTERRUPTED]
    assert dead.seconds is None
    assert dead.message == "its runner was killed"


def test_a_failure_is_told_of_the_step_that_failed_and_not_of_what_contains_it(node, workflow):
    nodes = [
        node("run.inner", "Failed", kind="DAG", message="child failed"),
        node("run.inner.a", "Failed", boundary="run.inner"),
        node("run.inner.b", boundary="run.inner"),
        node("run.other", "Error", kind="DAG", message="cycle"),
    ]
    assert [step.name for step in view(workflow(*nodes, phase="Failed")).failures()] == ["a", "other"]


def test_of_several_attempts_only_the_outcome_is_a_failure(node, workflow):
    retried = [node("run.a", kind="Retry"), node("run.a(0)", "Failed"), node("run.a(1)")]
    failed = [node("run.b", "Failed", kind="Retry"), node("run.b(0)", "Failed"), node("run.b(1)", "Failed", start=2)]
    assert [step.pod.name for step in view(workflow(*retried, *failed)).failures()] == ["run.b(1)"]


def test_where_the_retrying_itself_failed_that_is_the_reason(node, workflow):
    attempt = node("run.a(0)", "Failed", message="main: Error (exit code 1)")
    spent = node("run.a", "Failed", kind="Retry", message="No more retries left")
    broken = node("run.a", "Error", kind="Retry", message="'soon' is no duration")
    reasons = [view(workflow(retry, attempt, phase="Failed")).steps[0].reason for retry in (spent, broken)]
    assert reasons == ["main: Error (exit code 1)", "'soon' is no duration"]


def test_of_a_retried_dag_only_the_last_attempt_is_told(node, workflow):
    nodes = [node("run.a", "Failed", kind="Retry")]
    for attempt in ("run.a(0)", "run.a(1)"):
        nodes += [node(attempt, "Failed", kind="DAG"), node(f"{attempt}.b", "Failed", boundary=attempt)]
    assert [step.node.name for step in view(workflow(*nodes, phase="Failed")).failures()] == ["run.a(1).b"]


@pytest.mark.parametrize(
    ("codes", "is_verdict"), [((80,), True), ((80, 81), True), ((80, 1), False), ((80, None), False), ((), False)]
)
def test_only_gates_make_a_verdict(node, workflow, codes, is_verdict):
    nodes = [node(f"run.g{index}", "Failed", code=code) for index, code in enumerate(codes)]
    assert view(workflow(*nodes, phase="Failed")).is_verdict is is_verdict


def test_a_workflow_that_the_cluster_has_not_begun_is_pending():
    assert view({"metadata": {"name": "x"}, "spec": {}}).phase == "Pending"
