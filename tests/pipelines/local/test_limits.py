"""Retries, deadlines, locks, parallelism, and stops."""

import pytest

SPEC = """
entrypoint: main
{workflow}
templates:
- name: main
  {main}
- name: work
  {fields}
  inputs: {{parameters: [{{name: n, default: "0"}}]}}
  container: {{image: x, command: [sh, -c], args: ['{script}']}}
"""


def spec(script="true", fields="", main="dag: {tasks: [{name: a, template: work}]}", workflow=""):
    return SPEC.format(script=script, fields=fields, main=main, workflow=workflow)


def attempts(ended):
    return len(ended.node("a").children)


def test_a_failed_step_is_tried_again_up_to_its_limit(run):
    ended = run(spec("exit 1", "retryStrategy: {limit: 2}"))
    assert (ended.status.phase, attempts(ended), ended.node("a").message) == ("Failed", 3, "No more retries left")


def test_an_attempt_that_succeeds_ends_the_retries(run):
    ended = run(spec("test {{retries}} = 1", "retryStrategy: {limit: 5}"))
    assert (ended.status.phase, attempts(ended)) == ("Succeeded", 2)


@pytest.mark.parametrize(("code", "count"), [(1, 1), (75, 3)])
def test_an_expression_decides_which_failures_are_tried_again(run, code, count):
    retry = """retryStrategy: {limit: 2, retryPolicy: Always, expression: 'lastRetry.exitCode == "75"'}"""
    assert attempts(run(spec(f"exit {code}", retry))) == count


def test_backoff_waits_longer_each_time_and_says_so(run):
    ended = run(spec("exit 1", "retryStrategy: {limit: 2, backoff: {duration: 100ms, factor: 2}}"))
    assert attempts(ended) == 3


def test_retries_end_when_they_would_outlast_their_time(run):
    ended = run(spec("exit 1", "retryStrategy: {limit: 9, backoff: {duration: 1m, maxDuration: 30s}}"))
    assert (attempts(ended), ended.node("a").message) == (1, "Backoff would exceed max duration limit")


def test_on_error_does_not_retry_a_failure(run):
    assert attempts(run(spec("exit 1", "retryStrategy: {limit: 2, retryPolicy: OnError}"))) == 1


def test_a_pods_deadline_stops_it(run):
    ended = run(spec("sleep 60", "activeDeadlineSeconds: 1"))
    assert ended.node("a").message == "Pod was active on the node longer than the specified deadline"


def test_the_workflows_deadline_stops_what_runs_but_not_the_exit_handler(run):
    ended = run(
        spec(
            "case {{inputs.parameters.n}} in 0) sleep 60;; esac",
            workflow="onExit: bye\nactiveDeadlineSeconds: 1\n",
        )
        + "\n- name: bye\n  container: {image: x, command: [echo, bye]}\n"
    )
    assert (ended.status.phase, ended.node("a").message) == ("Failed", "Step exceeded its deadline")
    assert ended.status.message == ""  # as on Argo, whose controller keeps it for who stopped a run
    assert ended.phases()[f"{ended.folder.name}.onExit"] == "Succeeded"


LOG = "echo start {{inputs.parameters.n}} >> /shared/log; sleep 0.1; echo end {{inputs.parameters.n}} >> /shared/log"
FAN = "dag: {tasks: [{name: a, template: work, withSequence: {count: 4}}]}"
SHARED = "volumeClaimTemplates: [{metadata: {name: shared}, spec: {}}]"


def overlapping(ended):
    """How many of the pods that wrote the shared log ran at the same time, at most."""
    active = most = 0
    for line in (ended.folder.volumes / "shared" / "log").read_text().splitlines():
        active += 1 if line.startswith("start") else -1
        most = max(most, active)
    return most


def fan(fields="", workflow="", main=FAN):
    text = spec(LOG, fields, main, f"{SHARED}\n{workflow}")
    return text.replace("command: [sh, -c]", "volumeMounts: [{name: shared, mountPath: /shared}], command: [sh, -c]")


def test_a_mutex_lets_one_in_at_a_time(run):
    assert overlapping(run(fan("synchronization: {mutexes: [{name: m}]}"))) == 1


def test_parallelism_of_the_workflow_and_of_a_template(run):
    assert overlapping(run(fan(workflow="parallelism: 1"))) == 1
    assert overlapping(run(fan(main=FAN + "\n  parallelism: 1"))) == 1


def test_without_limits_pods_run_side_by_side(run):
    assert overlapping(run(fan())) == 2


def test_a_mutex_and_parallelism_together_do_not_block_each_other(run):
    """The place among the boundary's children comes before the lock, as in Argo's controller."""
    inner = (
        "\n- name: inner\n  dag: {tasks: [{name: w, template: work}, {name: x, template: work}]}\n  parallelism: 1\n"
    )
    outer = "dag: {tasks: [{name: a, template: inner}, {name: b, template: inner}]}\n  parallelism: 2"
    assert run(spec("sleep 0.1", "synchronization: {mutexes: [{name: m}]}", outer) + inner).status.phase == "Succeeded"


def test_a_lock_that_a_caller_holds_is_an_error_and_not_a_wait_for_ever(run):
    lock = "synchronization: {mutexes: [{name: m}]}"
    ended = run(spec("true", lock, f"dag: {{tasks: [{{name: a, template: work}}]}}\n  {lock}"))
    assert "would wait for ever" in ended.node("a").message


def test_a_timeout_counts_the_wait_for_a_lock(run):
    lock = "synchronization: {mutexes: [{name: m}]}"
    late = f"\n- name: late\n  timeout: 1s\n  {lock}\n  container: {{image: x, command: [echo]}}\n"
    main = "dag: {tasks: [{name: a, template: work}, {name: b, template: late}]}"
    ended = run(spec("sleep 2", lock, main) + late)
    assert (ended.phases()["a"], ended.node("b").message) == ("Succeeded", "timeout")


def test_a_pods_deadline_does_not_count_the_wait_for_a_place(run):
    ended = run(spec("sleep 0.6", "activeDeadlineSeconds: 1", FAN, "parallelism: 1"))
    assert ended.status.phase == "Succeeded"


VALUE = "'{{workflow.parameters.value}}'"
MISTAKES = {
    "timeout": (f"timeout: {VALUE}", "no duration"),
    "limit": (f"retryStrategy: {{limit: {VALUE}}}", "no whole number"),
    "backoff": (f"retryStrategy: {{limit: 1, backoff: {{duration: {VALUE}}}}}", "no duration"),
    "factor": (f"retryStrategy: {{limit: 1, backoff: {{duration: 1s, factor: {VALUE}}}}}", "no whole number"),
    "patch": (f"podSpecPatch: {VALUE}", "no patch of a pod"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_computed_number_that_is_none_ends_its_step_with_what_it_was(run, kind):
    """A literal one is refused before anything starts."""
    field, reason = MISTAKES[kind]
    workflow = "arguments: {parameters: [{name: value, value: soon}]}"
    message = run(spec("exit 1", field, workflow=workflow)).node("a").message
    assert reason in message
    assert "'soon'" in message


WRITES = {
    "bytes": ("printf '\\377' > /tmp/o", "parameters: [{name: o, valueFrom: {path: /tmp/o}}]", "no text"),
    "folder": ("mkdir /tmp/o", "parameters: [{name: o, valueFrom: {path: /tmp/o}}]", "no text"),
    "pipe": ("mkfifo /tmp/o", "artifacts: [{name: o, path: /tmp/o}]", "named pipe"),
    "root": ("true", "artifacts: [{name: o, path: /}]", "not the pod"),
}


@pytest.mark.parametrize("kind", WRITES)
def test_what_a_step_writes_cannot_end_the_runner(run, kind):
    script, outputs, reason = WRITES[kind]
    ended = run(spec(script.replace("'", "''"), f"outputs: {{{outputs}}}"))
    assert (ended.status.phase, reason in ended.node("a").message) == ("Error", True)
