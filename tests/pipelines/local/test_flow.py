"""What runs, in what order, and how a run ends: DAGs, steps, conditions, loops."""

import json

import pytest

BASE = """
entrypoint: main
templates:
- name: say
  inputs: {{parameters: [{{name: text, default: hello}}]}}
  container: {{image: x, command: [echo], args: ["{{{{inputs.parameters.text}}}}"]}}
- name: fail
  container: {{image: x, command: [sh, -c, "exit 3"]}}
- name: give
  container: {{image: x, command: [sh, -c, "printf 7 > /tmp/seven"]}}
  outputs: {{parameters: [{{name: seven, valueFrom: {{path: /tmp/seven}}}}]}}
- name: count
  script: {{image: x, command: [sh], source: "echo '[1,2,3]'"}}
- name: main
  {main}
"""


def say(name, text, **more):
    """A task that says what it was given."""
    given = {"name": name, "template": "say", "arguments": {"parameters": [{"name": "text", "value": text}]}}
    return json.dumps({**given, **more})


def dag(*tasks):
    return BASE.format(main="dag: {tasks: [" + ", ".join(tasks) + "]}")


def steps(*groups):
    return BASE.format(main="steps: [" + ", ".join(groups) + "]")


def test_outputs_reach_the_tasks_that_depend_on_them(run):
    ended = run(
        dag(
            "{name: a, template: give}",
            say("b", "got {{tasks.a.outputs.parameters.seven}}", depends="a"),
        )
    )
    assert (ended.status.phase, ended.log("b")) == ("Succeeded", "got 7\n")


@pytest.mark.parametrize(
    ("depends", "phase"),
    [
        ("ok", "Succeeded"),
        ("bad", "Omitted"),
        ("bad.Failed", "Succeeded"),
        ("ok && bad", "Omitted"),
        ("ok || bad.Succeeded", "Succeeded"),
        ("!bad.Succeeded", "Succeeded"),
        ("idle", "Succeeded"),
        ("idle.Succeeded", "Omitted"),
        ("idle.Skipped && bad.Failed", "Succeeded"),
        ("gone", "Omitted"),
        ("gone.Omitted", "Succeeded"),
        ("loop.AnySucceeded", "Succeeded"),
        ("loop.AllFailed", "Omitted"),
    ],
)
def test_depends_follows_argos_truth_table(run, depends, phase):
    ended = run(
        dag(
            "{name: ok, template: say}",
            "{name: bad, template: fail}",
            '{name: idle, template: say, when: "1 == 2"}',
            "{name: gone, template: say, depends: bad}",
            "{name: loop, template: say, withItems: [x, y]}",
            f'{{name: last, template: say, depends: "{depends}"}}',
        )
    )
    assert ended.phases()["last"] == phase


def test_a_failed_leaf_fails_the_dag_unless_it_may_fail(run):
    assert run(dag("{name: a, template: fail}")).status.phase == "Failed"
    assert run(dag("{name: a, template: fail, continueOn: {failed: true}}")).status.phase == "Succeeded"


def test_an_omitted_leaf_fails_with_the_branch_that_omitted_it(run):
    ended = run(dag("{name: a, template: fail}", "{name: b, template: say, depends: a}"))
    assert (ended.status.phase, ended.node("b").message) == ("Failed", "omitted: depends condition not met")


def test_a_dag_runs_what_its_target_needs_and_no_more(run):
    spec = dag("{name: a, template: say}", "{name: b, template: say, depends: a}", "{name: c, template: say}")
    ended = run(spec.replace("dag: {", "dag: {target: b, "))
    assert set(ended.phases()) == {"a", "b", ended.folder.name}


def test_independent_branches_go_on_after_a_failure(run):
    ended = run(dag("{name: bad, template: fail}", "{name: a, template: say}", "{name: b, template: say, depends: a}"))
    assert ended.phases()["b"] == "Succeeded"


def test_steps_run_in_groups_and_stop_after_a_failed_one(run):
    ended = run(
        steps(
            "[{name: a, template: say}, {name: b, template: fail}]",
            "[{name: c, template: say}]",
        )
    )
    group = ended.node("[0]")
    assert ended.status.phase == "Failed"
    assert group.message == f"child '{ended.node('b').id}' failed" == ended.status.message
    assert "c" not in ended.phases()


def test_when_is_judged_before_anything_else_of_a_task(run):
    ended = run(
        dag(
            "{name: a, template: say}",
            '{name: b, template: say, depends: a, when: "1 == 2", withParam: "{{tasks.a.outputs.parameters.nope}}"}',
        )
    )
    assert (ended.status.phase, ended.phases()["b"]) == ("Succeeded", "Skipped")


def test_a_loops_children_are_named_by_index_and_item(run):
    ended = run(dag(say("a", "{{item}}", withItems=["x", 2, {"k": "v", "a": "b"}])))
    assert [ended.log(f"a({label})") for label in ("0:x", "1:2", "2:a:b,k:v")] == ["x\n", "2\n", '{"a":"b","k":"v"}\n']
    assert ended.node("a").type == "TaskGroup"


def test_an_empty_loop_is_skipped_and_its_dependents_run(run):
    ended = run(dag('{name: a, template: say, withParam: "[]"}', "{name: b, template: say, depends: a}"))
    assert ended.node("a").message == "Skipped, empty params"
    assert ended.phases()["b"] == "Succeeded"


def test_a_loop_over_an_output_and_its_results_as_a_list(run):
    ended = run(
        dag(
            "{name: list, template: count}",
            '{name: each, template: give, depends: list, withParam: "{{tasks.list.outputs.result}}"}',
            say("sum", "{{tasks.each.outputs.parameters}}", depends="each"),
        )
    )
    assert json.loads(ended.log("sum")) == [{"seven": "7"}] * 3


def test_a_sequence_counts_as_argo_formats_it(run):
    ended = run(dag('{name: a, template: say, withSequence: {start: "9", end: "7", format: "n%02d"}}'))
    assert {"a(0:n09)", "a(1:n08)", "a(2:n07)"} <= set(ended.phases())


def test_an_output_that_never_comes_ends_with_a_diagnosis(run):
    ended = run(
        dag(
            "{name: a, template: say}",
            say("b", "{{tasks.a.outputs.parameters.nope}}", depends="a"),
        )
    )
    assert ended.status.phase == "Error"
    assert "tasks.a.outputs.parameters.nope" in ended.node("b").message
    assert "for ever" in ended.node("b").message


def test_outputs_of_a_nested_dag_come_out_where_it_exports_them(run):
    inner = """
- name: inner
  dag: {tasks: [{name: leaf, template: give}]}
  outputs: {parameters: [{name: out, valueFrom: {parameter: "{{tasks.leaf.outputs.parameters.seven}}"}}]}
"""
    spec = dag(
        "{name: a, template: inner}",
        say("b", "{{tasks.a.outputs.parameters.out}}", depends="a"),
    )
    assert run(spec + inner).log("b") == "7\n"


def test_a_missing_input_is_an_error_with_its_name(run):
    spec = dag("{name: a, template: say, arguments: {parameters: [{name: text}]}}")
    ended = run(spec)
    assert (ended.status.phase, ended.node("a").phase) == ("Error", "Error")
    assert "inputs.parameters.text was not supplied" in ended.node("a").message


def test_the_workflows_exit_handler_runs_and_its_failure_counts(run):
    ended = run(dag("{name: a, template: say}").replace("entrypoint: main", "entrypoint: main\nonExit: fail"))
    assert (ended.status.phase, ended.status.message) == ("Failed", "main: Error (exit code 3)")


def test_a_tasks_exit_handler_changes_nothing_about_it(run):
    ended = run(dag("{name: a, template: say, hooks: {exit: {template: fail}}}"))
    assert (ended.status.phase, ended.phases()["a.onExit"]) == ("Succeeded", "Failed")


def test_the_graph_has_argos_edges(run):
    ended = run(dag("{name: a, template: say}", "{name: b, template: say, depends: a}"))
    root = ended.status.nodes[ended.folder.name]
    assert root.children == [ended.node("a").id]
    assert ended.node("a").children == [ended.node("b").id]
    assert root.outbound_nodes == [ended.node("b").id]
