"""A literal that Argo would stumble over while it runs is found before, and one with a tag is left for the run."""

import subprocess
import sys

import pytest
import yaml

from argosy.pipelines.checks.rules import check_manifest

GOOD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
  parallelism: 2
  activeDeadlineSeconds: 60
  podSpecPatch: 'terminationGracePeriodSeconds: 0'
  retryStrategy: {limit: 0}
  templates:
  - name: main
    parallelism: 1
    steps: [[{name: one, template: run}]]
  - name: run
    timeout: 1m30s
    activeDeadlineSeconds: '60'
    podSpecPatch: '{"terminationGracePeriodSeconds": 60}'
    retryStrategy:
      limit: '3'
      retryPolicy: OnError
      backoff: {duration: '10', factor: 2, cap: 1m, maxDuration: 1h}
    initContainers: [{name: first, image: i, command: [run]}]
    container: {image: i, command: [run], args: [word], env: [{name: A.b-c_1, value: x}]}
"""
TAG = "{{workflow.name}}"


def found(old, new):
    assert old in GOOD
    return [str(problem) for problem in check_manifest(yaml.safe_load(GOOD.replace(old, new)))]


def test_right_literals_have_no_problem():
    assert found("", "") == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("1m30s", "abc", "templates.run.timeout: 'abc' is no duration; give one such as '90s', '1m30s' or '2h'"),
        ("1m30s", "-5s", "templates.run.timeout: '-5s' is no duration; "),
        ("1m30s", "'90'", "templates.run.timeout: '90' is no duration; "),
        ("1m30s", "0s", "templates.run.timeout: '0s' is no time at all; "),
        ("Seconds: '60'", "Seconds: x", "templates.run.activeDeadlineSeconds: 'x' is no deadline; give whole seconds"),
        ("Seconds: '60'", "Seconds: -1", "templates.run.activeDeadlineSeconds: -1 is no deadline; give whole seconds"),
        ("Seconds: 60\n", "Seconds: -60\n", "activeDeadlineSeconds: -60 is no deadline; give whole seconds, 1 or more"),
        ("parallelism: 2", "parallelism: -1", "parallelism: -1 lets nothing run; give 1 or more, or leave it out"),
        ("parallelism: 1", "parallelism: 0", "templates.main.parallelism: 0 lets nothing run; give 1 or more"),
        ("parallelism: 1", "timeout: 1m", "templates.main.timeout: Argo refuses it on a DAG or steps template; "),
        (
            "parallelism: 1",
            "activeDeadlineSeconds: 1",
            "templates.main.activeDeadlineSeconds: Argo refuses it on a DAG",
        ),
        (
            "timeout: 1m30s",
            "parallelism: 1",
            "templates.run.parallelism: Argo refuses it on a pod's template; remove it, ",
        ),
        ("limit: '3'", "limit: abc", "templates.run.retryStrategy.limit: 'abc' is no number of retries; give a whole"),
        ("limit: 0", "limit: '1.5'", "retryStrategy.limit: '1.5' is no number of retries; give a whole number, or"),
        ("OnError", "OnErrors", "templates.run.retryStrategy.retryPolicy: there is no policy OnErrors; did you mean"),
        ("duration: '10'", "duration: xyz", "templates.run.retryStrategy.backoff.duration: 'xyz' is no duration; give"),
        ("duration: '10', ", "", "templates.run.retryStrategy.backoff.duration: is missing; say how long"),
        ("cap: 1m", "cap: xyz", "templates.run.retryStrategy.backoff.cap: 'xyz' is no duration; give one such as"),
        ("maxDuration: 1h", "maxDuration: 1d", "templates.run.retryStrategy.backoff.maxDuration: '1d' is no duration"),
        ("factor: 2", "factor: x", "templates.run.retryStrategy.backoff.factor: 'x' is no factor; give a whole number"),
        ("factor: 2", "factor: '1.5'", "templates.run.retryStrategy.backoff.factor: '1.5' is no factor; give a whole"),
        (
            "'{\"termin",
            "'[\"termin",
            "templates.run.podSpecPatch: '[\"terminationGracePeriodSeconds\": 60}' is no object",
        ),
        ("'terminationGracePeriodSeconds: 0'", "soon", "podSpecPatch: 'soon' is no object; write YAML such as"),
        ("Seconds: 0'", "Seconds: soon'", "podSpecPatch.terminationGracePeriodSeconds: 'soon' is no time; give whole"),
        ("Seconds: 0'", "Seconds: -1'", "podSpecPatch.terminationGracePeriodSeconds: -1 is no time; give whole"),
        ("name: A.b-c_1", "name: A=B", "templates.run.container.env: 'A=B' is no name for a variable; use letters"),
        ("name: A.b-c_1", "name: ''", "templates.run.container.env: '' is no name for a variable; use letters"),
        (
            "args: [word]",
            r'args: ["a\0b"]',
            "templates.run.container.args: holds U+0000, which no process can be given",
        ),
        (
            "value: x",
            r'value: "\0"',
            "templates.run.container.env: holds U+0000, which no process can be given; remove",
        ),
        ("i, command: [run]}]", r'i, command: ["\0"]}]', "templates.run.initContainers.first.command: holds U+0000"),
        ("[word]", f"[{'a' * 131_072}]", "templates.run.container.args: has 131,072 bytes, 1 more than fit into an"),
    ],
)
def test_bad_literal_is_found_placed_and_told_once(old, new, problem):
    (told,) = found(old, new)
    assert told.startswith(problem)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1m30s", f"'{TAG}'"),
        ("Seconds: '60'", f"Seconds: '{TAG}'"),
        ("limit: '3'", f"limit: '{TAG}'"),
        ("OnError", f"'{TAG}'"),
        ("duration: '10'", f"duration: '{TAG}'"),
        ("factor: 2", f"factor: '{TAG}'"),
        ("'terminationGracePeriodSeconds: 0'", f"'{TAG}'"),
        ("name: A.b-c_1", f"name: '{TAG}='"),
    ],
)
def test_what_holds_a_tag_is_left_for_the_run(old, new):
    assert found(old, new) == []


def test_the_rules_for_a_runner_import_neither_hera_nor_pydantic():
    code = "import sys, argosy.pipelines.checks.structure; print(*{'hera', 'pydantic'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_rules_for_a_runner_find_what_checking_finds():
    from argosy.pipelines.checks import structure

    manifest = yaml.safe_load(GOOD.replace("1m30s", "abc").replace("template: run", "template: rum"))
    assert structure.problems(manifest) == check_manifest(manifest)
    assert len(structure.problems(manifest)) == 2
