"""Each rule finds its mistake, says where, and leaves the right form alone."""

import pytest
import yaml

from argosy.pipelines.checks.rules import check_manifest

GOOD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  arguments: {parameters: [{name: size, value: '1'}]}
  templates:
  - name: main
    dag:
      tasks:
      - {name: one, template: run, arguments: {parameters: [{name: x, value: '{{workflow.parameters.size}}'}]}}
      - name: two
        template: run
        depends: one
        arguments: {parameters: [{name: x, value: '{{tasks.one.outputs.parameters.y}}'}]}
  - name: run
    inputs: {parameters: [{name: x}]}
    outputs: {parameters: [{name: y, valueFrom: {path: /y}}]}
    container: {image: i, command: [run], args: ['{{inputs.parameters.x}}']}
"""


def found(*replacements, text=GOOD):
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return [str(problem) for problem in check_manifest(yaml.safe_load(text))]


def test_good_manifest_has_no_problem():
    assert found() == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("{name: w}", "{}", "metadata: there is no name; give a name, or a generateName that ends in a hyphen"),
        ("{name: w}", "{name: w_w}", "metadata.name: 'w_w' is no name; write 'w-w'"),
        ("name: main\n    dag", "name: _main\n    dag", "templates._main: '_main' is no name for Argo; use letters"),
        ("name: y, v", "name: y!, v", "templates.run.outputs.y!: 'y!' is no name for a parameter; use letters"),
        (
            "{name: w}",
            "{name: w, labels: {a: b/c}}",
            "metadata.labels.a: 'b/c' is no value of a label; write 'b-c', and keep",
        ),
        ("{name: w}", "{name: w, labels: {-a: b}}", "metadata.labels.-a: '-a' is no key of a label; write 'a'"),
        ("entrypoint: main", "entrypoint: mein", "entrypoint: there is no template mein; did you mean main?"),
        (
            "entrypoint: main",
            "entrypoint: main\n  onExit: bye",
            "onExit: there is no template bye; the templates are main, run",
        ),
        ("entrypoint: main", "entrypoint: run", "templates.run.inputs.x: gets no value; give it a default"),
        (
            "name: two\n        template: run",
            "name: two\n        template: ran",
            "main.two.template: there is no template ran; did you mean run?",
        ),
        ("depends: one", "depends: noe", "main.two.depends: there is no task noe; did you mean one?"),
        (
            "depends: one",
            "depends: one.Done",
            "main.two.depends: 'one.Done': task result 'Done' for task 'one' is invalid",
        ),
        ("depends: one", "depends: one &&", "main.two.depends: 'one &&': unexpected end of expression (column 6)"),
        ("depends: one", "depends: one.AnySucceeded", "main.two.depends: one loops over nothing"),
        (
            "depends: one",
            "depends: one\n        dependencies: [one]",
            "main.two.dependencies: another task uses depends; write",
        ),
        (
            "depends: one",
            "depends: one\n        continueOn: {failed: true}",
            "main.two.continueOn: is not heeded beside depends",
        ),
        (
            "depends: one",
            "when: 'a == a'",
            "main.two: {{tasks.one.outputs.parameters.y}}: two does not wait for one; add one to depends",
        ),
        (
            "depends: one",
            "depends: one\n        when: 'x == {{tasks.two.status}}'",
            "main.two: {{tasks.two.status}}: two does not wait",
        ),
        (
            "parameters.y}}",
            "parameters.z}}",
            "main.two: {{tasks.one.outputs.parameters.z}}: one has no such output parameter",
        ),
        ("outputs.parameters.y", "otputs.result", "one has no such thing; did you mean outputs.result?"),
        (
            "tasks.one",
            "tasks.noe",
            "main.two: {{tasks.noe.outputs.parameters.y}}: there is no such task; did you mean one?",
        ),
        ("parameters.size}}", "parameters.sice}}", "no such parameter of the workflow; did you mean size?"),
        (
            "{{inputs.parameters.x}}",
            "{{inputs.parameters.w}}",
            "templates.run: {{inputs.parameters.w}}: no such input parameter",
        ),
        (
            "{{inputs.parameters.x}}",
            "{{inputs.parameters.x",
            "templates.run: the tag that begins {{inputs.parameters.x is not closed",
        ),
        ("{{inputs.parameters.x}}", "{{=1 +}}", "templates.run: {{=1 +}}: unexpected end of expression"),
        (
            "{{inputs.parameters.x}}",
            "{{workflow.parameters.nope}}",
            "no such parameter of the workflow; there are size",
        ),
        (
            "'{{workflow.parameters.size}}'",
            "'{{item}}'",
            "main.one: {{item}}: the task loops over nothing; give it withItems",
        ),
        (
            "depends: one",
            "depends: one\n        when: '{{tasks.one.status}} == not-run'",
            "main.two.when: not-run in column 25 is read",
        ),
        ("value: '1'", "value: Infinity", "arguments.size: Infinity is not finite; give a finite number"),
        (
            "value: '1'",
            r'value: "\e[31m"',
            "arguments.size: holds U+001B, which Argo cannot pass on; remove it, or encode",
        ),
        (
            "image: i",
            "image: i, imagePolicy: Always",
            "spec.templates.run.container.imagePolicy: Container has no such field; did",
        ),
        (
            "entrypoint: main",
            "entrypoint: [main]",
            "spec.entrypoint: ['main']: Input should be a valid string; see Argo's",
        ),
        (
            "kind: Workflow",
            "kind: Pod",
            "kind: 'Pod' is none that argosy knows; write one of Workflow, WorkflowTemplate",
        ),
        ("name: run\n", "name: Run\n", "templates.Run: 'Run' is no name for Argo; use lower-case letters"),
        ("name: two", "name: One", "main: one and One are the same name; give each a name of its own"),
        ("name: run\n", "name: main\n", "templates: main is there twice; give each a name of its own"),
        ("name: two", "name: one", "main: one is there twice; give each a name of its own"),
        ("    dag:\n", "    dag:\n      target: one twi\n", "main.target: there is no task twi; did you mean two?"),
        ("entrypoint: main", "entrypoint: main\n  hooks: {exit: {template: bye}}", "hooks.exit.template: there is no"),
        (
            "depends: one",
            "depends: one\n        onExit: bye",
            "main.two.onExit: there is no template bye; the templates",
        ),
        (
            "depends: one",
            "depends: one\n        hooks: {running: {template: bye, expression: a}}",
            "main.two.hooks.running.template: there is no template bye; the templates",
        ),
    ],
)
def test_mistake_is_found_and_placed(old, new, problem):
    assert any(problem in one for one in found((old, new))), found((old, new))


STEPS = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: w-}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - [{name: one, template: run}]
    - [{name: two, template: use, arguments: {artifacts: [{name: a, from: '{{steps.one.outputs.artifacts.a}}'}]}}]
  - name: run
    outputs: {artifacts: [{name: a, path: /a}]}
    container: {image: i, command: [run]}
  - name: use
    inputs: {artifacts: [{name: a, path: /a}]}
    container: {image: i, command: [run]}
"""


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "template: run}]\n    - [",
            "template: run}, ",
            "{{steps.one.outputs.artifacts.a}}: two does not wait for one; move one",
        ),
        ("name: two", "name: one", "main: one is there twice; give each a name of its own"),
        ("artifacts.a}}", "artifacts.b}}", "one has no such output artifact; there are a"),
        (
            ", arguments: {artifacts: [{name: a, from: '{{steps.one.outputs.artifacts.a}}'}]}",
            "",
            "main.two.a: use needs this",
        ),
    ],
)
def test_mistake_among_steps_is_found(old, new, problem):
    assert any(problem in one for one in found((old, new), text=STEPS)), found((old, new), text=STEPS)


def test_steps_that_are_right_have_no_problem():
    assert found(text=STEPS) == []


@pytest.mark.parametrize("target", ["one", "one two", "two {{workflow.parameters.size}}"])
def test_targets_that_are_tasks_or_known_later_have_no_problem(target):
    assert found(("    dag:\n", f"    dag:\n      target: '{target}'\n")) == []


def test_longest_way_round_is_a_dependency():
    chain = (
        "- {name: a, template: run, arguments: {parameters: [{name: x, value: '1'}]}, depends: one}\n      - name: two"
    )
    assert found(("- name: two", chain), ("depends: one\n", "depends: a\n")) == []


def test_problems_are_all_told_at_once():
    assert (
        len(found(("entrypoint: main", "entrypoint: mein"), ("depends: one", "depends: noe"), ("{name: w}", "{}"))) == 4
    )


def test_value_of_any_size_is_told_in_a_few_words():
    bomb: list[object] = ["x"]
    for _ in range(64):
        bomb = [bomb, bomb]
    for value in (bomb, "x" * 100_000):
        manifest = yaml.safe_load(GOOD) | {"spec": value}
        told = [str(problem) for problem in check_manifest(manifest)]
        assert told
        assert all(len(one) < 400 for one in told)


@pytest.mark.parametrize("value", [0.7, 60, True])
def test_a_parameters_value_may_be_any_scalar_as_argo_takes_it(value):
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "a-"},
        "spec": {
            "entrypoint": "a",
            "arguments": {"parameters": [{"name": "x", "value": value}]},
            "templates": [{"name": "a", "container": {"image": "x", "command": ["true"]}}],
        },
    }
    assert check_manifest(manifest, None) == []
