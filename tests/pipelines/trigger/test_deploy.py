"""What `argosy deploy` puts into a cluster, and what a push makes of it."""

import re

import pytest
import yaml

from argosy.pipelines import Accuracy, Dataset, OnPush, Pipeline, Registry, Training
from argosy.pipelines.code import Git
from argosy.pipelines.errors import SpecError
from argosy.pipelines.names import DNS_NAME, LABEL_VALUE, NAME_LIMIT
from argosy.pipelines.trigger.binding import NAME_LIMIT as TEMPLATE_LIMIT
from argosy.pipelines.trigger.deployment import deployment

COMMIT = "1234567890abcdef1234567890abcdef12345678"
NASTY = "$(touch x)\"'`; {{workflow.name}}\n[link](javascript:alert)"


def pipeline(**changes):
    settings = {
        "name": "digits",
        "dataset": Dataset("data/digits"),
        "training": Training(task="argosy.steps.digits:Digits"),
        "gates": [Accuracy(at_least=0.9)],
        "registry": Registry("digits"),
        "image": "argosy/digits:0.1.0",
        "labels": {"team": "vision"},
        "description": "Digits",
        "code": Git("https://git.example.org/vision/digits.git"),
        "on_push": OnPush(repository="vision/digits"),
        **changes,
    }
    return Pipeline(**settings)


@pytest.fixture
def with_data(project):
    """The project, whose dvc.lock names the dataset."""
    out = {"path": "data/digits", "md5": "d" * 32 + ".dir", "size": 1, "nfiles": 1, "hash": "md5"}
    lock = {"schema": "2.0", "stages": {"digits": {"cmd": "true", "outs": [out]}}}
    (project / "dvc.lock").write_text(yaml.safe_dump(lock))
    return project


@pytest.fixture
def deployed(with_data):
    def make(**changes):
        defined = pipeline(**changes)
        return list(yaml.safe_load_all(deployment(defined.workflow(), defined, with_data)))

    return make


def submitted(binding, event):
    """The metadata and parameters of the workflow that Argo's server makes of an event."""
    submit = binding["spec"]["submit"]
    given = submit["metadata"]
    parts = {
        part: {key: event.evaluated(text) for key, text in given[part].items()} for part in ("labels", "annotations")
    }
    parameters = {one["name"]: event.evaluated(one["valueFrom"]["event"]) for one in submit["arguments"]["parameters"]}
    return {"name": event.evaluated(given["name"]), "parameters": parameters, **parts}


def test_the_template_has_the_workflows_spec_and_gives_runs_its_labels(deployed):
    template, _ = deployed()
    compiled = pipeline().workflow().to_dict()
    assert template["kind"] == "WorkflowTemplate"
    assert template["metadata"]["name"] == "digits"
    assert "generateName" not in template["metadata"]
    inherited = template["spec"].pop("workflowMetadata")
    assert inherited == {"labels": {"argosy/pipeline": "digits", "team": "vision"}}
    assert template["spec"] == compiled["spec"]


def test_the_same_definition_gives_the_same_bytes(with_data):
    texts = {deployment(pipeline().workflow(), pipeline(), with_data) for _ in range(3)}
    assert len(texts) == 1


def test_without_on_push_there_is_no_binding(deployed):
    assert [one["kind"] for one in deployed(on_push=None, code=None)] == ["WorkflowTemplate"]


def test_a_push_becomes_a_run_of_that_commit(deployed, event):
    template, binding = deployed()
    run = submitted(binding, event())
    assert binding["spec"]["submit"]["workflowTemplateRef"] == {"name": template["metadata"]["name"]}
    assert run["name"] == "digits-1234567890ab"
    assert run["parameters"] == {"revision": COMMIT}
    assert {one["name"] for one in template["spec"]["arguments"]["parameters"]} > {"revision"}
    assert run["labels"] == {"argosy/pipeline": "digits", "team": "vision"}
    assert run["annotations"] == {
        "workflows.argoproj.io/title": "digits 1234567",
        "workflows.argoproj.io/description": "push to `main` by `Ada Lovelace`: `New data`",
        "argosy/commit": COMMIT,
        "argosy/branch": "main",
        "argosy/submitted-by": "Ada Lovelace",
        "argosy/message": "New data",
    }


def test_a_delivery_repeated_is_the_same_run(deployed, event):
    _, binding = deployed()
    first, second = event(), event(commits=[], before="0" * 40)
    assert submitted(binding, first)["name"] == submitted(binding, second)["name"]


def test_hostile_text_stays_in_annotations_and_is_clipped(deployed, event):
    _, binding = deployed()
    one = {"message": "é" * 3000 + "\nsecret", "author": {"name": NASTY * 100}}
    run = submitted(binding, event(ref=f"refs/heads/{NASTY}", head_commit=one | {"id": COMMIT}, commits=[one]))
    assert DNS_NAME.fullmatch(run["name"])
    assert all(LABEL_VALUE.fullmatch(value) for value in run["labels"].values())
    assert run["parameters"] == {"revision": COMMIT}
    assert run["annotations"]["argosy/branch"] == NASTY
    assert run["annotations"]["argosy/message"] == "é" * 200
    assert run["annotations"]["argosy/submitted-by"] == (NASTY * 100)[:200]


def test_a_description_shows_hostile_text_as_it_is(deployed, event):
    _, binding = deployed()
    run = submitted(binding, event(ref=f"refs/heads/{NASTY}"))
    shown = run["annotations"]["workflows.argoproj.io/description"]
    assert re.fullmatch(r"push to `[^`]*` by `[^`]*`: `[^`]*`", shown)


@pytest.mark.parametrize("field", ["head_commit", "commits", "user_name", "pusher"])
def test_a_payload_that_lacks_a_field_becomes_a_run_all_the_same(deployed, event, field):
    _, binding = deployed()
    assert submitted(binding, event(**{field: ...}))["name"] == "digits-1234567890ab"


def test_the_longest_name_of_a_pipeline_leaves_room_for_the_commit(deployed, event):
    _, binding = deployed(name="d" * TEMPLATE_LIMIT)
    assert len(submitted(binding, event())["name"]) == NAME_LIMIT
    with pytest.raises(SpecError, match=f"leave {TEMPLATE_LIMIT} at most"):
        deployed(name="d" * (TEMPLATE_LIMIT + 1))


def test_an_image_that_holds_the_code_cannot_follow_pushes(deployed):
    with pytest.raises(SpecError, match=r"on_push: the image holds the code of one commit.*code=Git"):
        deployed(code=None)


def test_a_pipeline_with_a_problem_is_not_printed(argosy, project):
    (project / "broken.py").write_text(
        "from argosy.pipelines import OnPush\np = OnPush(branches=['refs/heads/main'])\n"
    )
    done = argosy("deploy", "broken.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "broken.py:2: OnPush.branches[0]: 'refs/heads/main' matches no name as git writes it; write 'main'"
        in done.stderr
    )


def test_a_cron_workflow_becomes_no_template(argosy, project):
    (project / "nightly.py").write_text(
        "from hera.workflows import Container, CronWorkflow\n"
        "with CronWorkflow(name='nightly', entrypoint='main', schedules=['0 3 * * *']) as workflow:\n"
        "    Container(name='main', image='x', command=['true'])\n"
    )
    done = argosy("deploy", "nightly.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a CronWorkflow has its own template and trigger; apply it as `hera generate yaml` prints it" in done.stderr


def test_a_manifest_is_no_pipeline(argosy):
    done = argosy("deploy", "greeting.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "greeting.yaml is a manifest already" in done.stderr
