"""The order of a pipeline's tasks: who is asked, when, and what is published with the model."""

import pytest

from argosy.pipelines import (
    Accuracy,
    Dataset,
    Latency,
    NotWorseThanChampion,
    Pipeline,
    Registry,
    Training,
    documents,
)
from argosy.pipelines.compile import compiled
from argosy.pipelines.local.runner import LocalRuns
from argosy.steps import stored

FAST = Latency(quantile=0.9, at_most_ms=50)


def pipeline(*gates, **registry):
    return Pipeline(
        name="digits",
        dataset=Dataset("data/digits"),
        training=Training(task="t:T"),
        gates=gates,
        registry=Registry("digits", **registry),
        image="digits:1",
    )


def manifest(text):
    (document,) = documents.load_all(text)
    return document


def tasks(definition):
    document = manifest(compiled(definition))
    (graph,) = [one["dag"]["tasks"] for one in document["spec"]["templates"] if "dag" in one]
    return {one["name"]: one for one in graph}


def arguments(task):
    return {one["name"]: one["value"] for one in task["arguments"]["parameters"]}


def words(document):
    (publish,) = [one for one in document["spec"]["templates"] if one["name"] == "publish"]
    return dict(word.split("=", 1) for word in publish["container"]["args"][1:])


@pytest.mark.parametrize("policy", ["fail", "pass"])
def test_nobody_is_asked_where_no_policy_says_so(policy):
    found = tasks(pipeline(Accuracy(at_least=0.9, inconclusive=policy), FAST))
    assert list(found) == ["stage", "train", "accuracy-gate", "latency-gate", "publish"]
    assert found["publish"]["depends"] == "accuracy-gate.Succeeded && latency-gate.Succeeded"
    assert arguments(found["accuracy-gate"])["inconclusive"] == policy


def test_a_gate_that_holds_asks_a_person_only_where_it_could_not_tell_and_publishing_waits():
    found = tasks(pipeline(Accuracy(at_least=0.9, inconclusive="hold"), FAST))
    hold = found["accuracy-gate-hold"]
    assert hold["depends"] == "accuracy-gate.Succeeded"
    assert hold["when"] == '"{{tasks.accuracy-gate.outputs.parameters.answer}}" == "inconclusive"'
    assert arguments(hold) == {"summary": "{{tasks.accuracy-gate.outputs.parameters.summary}}"}
    assert found["publish"]["depends"] == (
        "accuracy-gate.Succeeded && (accuracy-gate-hold.Succeeded || accuracy-gate-hold.Skipped) "
        "&& latency-gate.Succeeded"
    )


def test_approval_is_asked_for_after_every_gate_and_shows_what_they_found():
    found = tasks(pipeline(Accuracy(at_least=0.9, inconclusive="hold"), FAST, approval=True))
    assert list(found)[-3:] == ["accuracy-gate-hold", "approval", "publish"]
    assert "accuracy-gate-hold.Skipped) && latency-gate.Succeeded" in found["approval"]["depends"]
    assert arguments(found["approval"]) == {
        name: f"{{{{tasks.{name}.outputs.parameters.summary}}}}" for name in ("accuracy-gate", "latency-gate")
    }
    assert found["publish"]["depends"] == "approval.Succeeded"


def test_publishing_is_given_what_the_recipe_needs():
    given = arguments(tasks(pipeline(FAST))["publish"])
    assert given["dataset-pin"] == "{{tasks.stage.outputs.parameters.dataset-pin}}"
    assert given["seed"] == "{{workflow.parameters.seed}}"
    assert given["machine"] == "{{tasks.train.outputs.parameters.machine}}"


def test_gate_and_publishing_compare_with_the_same_margin_which_is_a_parameter():
    found = tasks(pipeline(NotWorseThanChampion(margin=0.02)))
    tag = "{{workflow.parameters.champion-margin}}"
    assert (arguments(found["champion-gate"])["margin"], arguments(found["publish"])["champion-margin"]) == (tag, tag)


# ---------------------------------------------------------------------------------------------- the manifest within


def test_the_manifest_goes_into_the_recipe_and_holds_nothing_in_its_own_place():
    document = manifest(compiled(pipeline(Accuracy(at_least=0.9, inconclusive="hold"), approval=True)))
    kept = manifest(stored.unpacked(words(document)["--manifest"]))
    assert words(kept)["--manifest"] == ""
    (publish,) = [one for one in kept["spec"]["templates"] if one["name"] == "publish"]
    (whole,) = [one for one in document["spec"]["templates"] if one["name"] == "publish"]
    args = publish["container"]["args"]
    args[args.index("--manifest=")] = f"--manifest={words(document)['--manifest']}"
    assert whole == publish
    assert document == kept


def test_the_manifest_of_a_template_of_the_cluster_holds_the_workflow_that_it_starts():
    definition = pipeline(FAST)
    template = definition.workflow_template().to_dict()
    assert words(template)["--manifest"] == words(definition.workflow().to_dict())["--manifest"]
    assert template["kind"] == "WorkflowTemplate"
    assert manifest(stored.unpacked(words(template)["--manifest"]))["kind"] == "Workflow"


def test_hera_writes_the_manifest_within_too():
    definition = pipeline(FAST)
    assert words(manifest(definition.workflow().to_yaml())) == words(manifest(compiled(definition)))


def test_one_machine_can_run_a_pipeline_that_asks_a_person(tmp_path):
    definition = pipeline(Accuracy(at_least=0.9, inconclusive="hold"), FAST, approval=True)
    assert LocalRuns(tmp_path).prepare(compiled(definition), {}).name.startswith("digits-")
