"""Exit handlers of tasks and steps: for what they run, what they know, and that nothing else changes by them."""

import pytest

TEMPLATES = """
entrypoint: main
templates:
- name: work
  container: {image: x, command: ["true"]}
- name: flaky
  retryStrategy: {limit: 1}
  container: {image: x, command: [sh, -c, "echo {{retries}}; [ {{retries}} = 1 ]"]}
- name: give
  container: {image: x, command: [sh, -c, "echo 7 > /tmp/seven"]}
  outputs:
    parameters: [{name: seven, valueFrom: {path: /tmp/seven}}]
    artifacts: [{name: file, path: /tmp/seven}]
- name: note
  inputs: {parameters: [{name: text, default: none}]}
  container: {image: x, command: [echo, "{{inputs.parameters.text}}"]}
- name: read
  inputs: {artifacts: [{name: file, path: /tmp/file}]}
  container: {image: x, command: [cat, /tmp/file]}
- name: main
"""


def hook(text):
    return f'hooks: {{exit: {{template: note, arguments: {{parameters: [{{name: text, value: "{text}"}}]}}}}}}'


def test_a_loops_hook_runs_for_each_child_and_for_the_loop_of_a_dag(run):
    ended = run(TEMPLATES + "  dag: {tasks: [{name: each, template: work, withItems: [a, b], onExit: note}]}")
    handlers = {name for name in ended.phases() if name.endswith(".onExit")}
    assert handlers == {"each.onExit", "each(0:a).onExit", "each(1:b).onExit"}


def test_a_hook_of_steps_knows_its_item(run):
    ended = run(TEMPLATES + f"  steps: [[{{name: each, template: work, withItems: [a], {hook('{{item}}')}}}]]")
    assert ended.log("each(0:a).onExit") == "a\n"


@pytest.mark.parametrize("kind", ["tasks", "steps"])
def test_a_loop_whose_hook_names_the_loops_own_end_is_an_error(run, kind):
    loop = f"{{name: each, template: work, withItems: [a], {hook('{{KIND.each.status}}'.replace('KIND', kind))}}}"
    ended = run(TEMPLATES + (f"  dag: {{tasks: [{loop}]}}" if kind == "tasks" else f"  steps: [[{loop}]]"))
    assert "each(0:a)" not in ended.phases()
    assert f"failed to resolve {{{{{kind}.each.status}}}}" in {node.message for node in ended.status.nodes.values()}


def test_a_hook_knows_its_tasks_status_and_outputs_and_no_more(run):
    text = "{{tasks.give.status}} {{tasks.give.outputs.parameters.seven}} {{tasks.give.exitCode}}"
    ended = run(TEMPLATES + f"  dag: {{tasks: [{{name: give, template: give, {hook(text)}}}]}}")
    assert ended.log("give.onExit") == "Succeeded 7 {{tasks.give.exitCode}}\n"


def test_a_hook_takes_its_tasks_artifacts(run):
    given = "arguments: {artifacts: [{name: file, from: '{{tasks.give.outputs.artifacts.file}}'}]}"
    task = f"{{name: give, template: give, hooks: {{exit: {{template: read, {given}}}}}}}"
    assert run(TEMPLATES + f"  dag: {{tasks: [{task}]}}").log("give.onExit") == "7\n"


def test_a_retried_tasks_hook_is_none_of_its_attempts(run):
    text = 'arguments: {parameters: [{name: text, value: "{{tasks.flaky.outputs.result}}"}]}'
    last = f"{{name: last, template: note, depends: flaky, {text}}}"
    ended = run(TEMPLATES + f"  dag: {{tasks: [{{name: flaky, template: flaky, onExit: work}}, {last}]}}")
    assert ended.log("last") == "1\n"


def test_a_loops_outputs_are_its_childrens_without_the_hooks(run):
    last = "{name: last, template: note, depends: each, arguments: {parameters: [{name: text, value: V}]}}"
    last = last.replace("V", '"{{tasks.each.outputs.parameters.seven}}"')
    each = "{name: each, template: give, withItems: [a], onExit: give}"
    assert run(TEMPLATES + f"  dag: {{tasks: [{each}, {last}]}}").log("last") == '["7"]\n'


def test_edges_lead_to_hooks_so_that_they_can_be_seen(run):
    ended = run(TEMPLATES + "  steps: [[{name: one, template: work, onExit: note}]]")
    assert ended.node("one").children == [ended.node("one.onExit").id]
