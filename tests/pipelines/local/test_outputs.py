"""What a node shows of what it gave, and of what it should have given."""

STEP = """
entrypoint: main
templates:
- name: main
  container: {{image: x, command: [sh, -c, "{command}"]}}
  outputs:
    parameters:
    - {{name: first, valueFrom: {{path: /tmp/first}}}}
    - {{name: second, valueFrom: {{path: /tmp/second}}}}
    - {{name: third, valueFrom: {{path: /tmp/third}}}}
    artifacts: [{{name: file, path: /tmp/file}}, {{name: other, path: /tmp/other}}]
"""


def only(ended):
    (node,) = ended.status.nodes.values()
    return node


def test_what_is_missing_is_named_and_what_is_there_is_kept(run):
    command = "echo 1 > /tmp/first; echo 3 > /tmp/third; touch /tmp/other"
    node = only(run(STEP.format(command=command)))
    assert [(value.name, value.value) for value in node.outputs.parameters] == [
        ("first", "1"),
        ("second", None),
        ("third", None),
    ]
    assert [file.name for file in node.outputs.artifacts] == ["other"]
    assert (node.phase, node.outputs.exit_code) == ("Error", "0")
    assert "'second': /tmp/second does not exist" in node.message
    assert "'file': /tmp/file does not exist" in node.message


def test_a_failure_counts_more_than_what_is_missing(run):
    node = only(run(STEP.format(command="exit 3")))
    assert (node.phase, node.message) == ("Failed", "main: Error (exit code 3)")


def test_a_node_adds_up_the_progress_of_all_pods_that_come_after_it(run):
    ended = run("""
entrypoint: main
templates:
- name: main
  steps:
  - - {name: a, template: work}
    - {name: b, template: bad, continueOn: {failed: true}}
  - - {name: c, template: work}
- {name: work, container: {image: x, command: ["true"]}}
- {name: bad, container: {image: x, command: ["false"]}}
""")
    progress = {node.display_name: node.progress for node in ended.status.nodes.values()}
    assert (ended.status.progress, progress["[0]"], progress["[1]"], progress["b"]) == ("2/3", "2/3", "1/1", "0/1")


def test_an_optional_input_that_nobody_gave_is_shown_without_a_place(run):
    ended = run("""
entrypoint: main
templates:
- name: main
  inputs: {artifacts: [{name: maybe, path: /tmp/maybe, optional: true}]}
  container: {image: x, command: [sh, -c, "[ ! -e /tmp/maybe ]"]}
""")
    assert (ended.status.phase, [file.name for file in only(ended).inputs.artifacts]) == ("Succeeded", ["maybe"])
