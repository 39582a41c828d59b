"""Several nodes, or a queue: a small pod makes a Job whose pods are what one node's pod is."""

import json
import os
import re
from pathlib import Path

import pytest
from hera.workflows import Workflow

from argosy.pipelines import (
    Accuracy,
    Claim,
    Dataset,
    Git,
    Nodes,
    Pipeline,
    Placement,
    Queue,
    Registry,
    Resources,
    Storage,
    Toleration,
    Topology,
    Training,
    Volcano,
    templates,
)
from argosy.pipelines.checks.rules import check_manifest
from argosy.pipelines.expressions import tags
from argosy.pipelines.local import retry
from argosy.pipelines.started import job_of, option_of, trainings
from argosy.pipelines.status import FAILED, Node, Values
from argosy.steps.arguments import parsed
from argosy.steps.contracts import GangInput, TrainInput, TrainOutput, option
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from argosy.steps.gang.manifest import Manifest

MODULES = Path(os.environ.get("GOMODCACHE", Path(os.environ.get("GOPATH", Path.home() / "go")) / "pkg" / "mod"))
CODE = Git("https://git.example.org/team/digits.git")
QUEUE = Queue("train", priority="high", topology=Topology("rack"))
GIVEN = {
    "dataset-hash": "0" * 32,
    "dataset-pin": '{"dataset":"d","revision":"","sources":[]}',
    "node": "node-1",
    "revision": "c0ffee",
    "seed": "3",
    "epochs": "2",
    "batch-size": "32",
    "learning-rate": "0.1",
    "weight-decay": "0",
    "channels": "8",
    "dropout": "0.1",
}


def training(**settings):
    return Training(**{"task": "a:B", "hyperparameters": DigitsHyperparameters(), "nodes": 2} | settings)


def built(noun, **settings):
    made = templates.train(noun, image="i", **settings)._build_template()
    return made.model_dump(exclude_none=True, by_alias=True)


def job(noun, **settings):
    return job_of(built(noun, **settings)["container"])


def pod(noun, **settings):
    return job(noun, **settings)["spec"]["template"]["spec"]


def filled(template, attempts=()):
    """What the step makes of its arguments, once Argo has replaced what it replaces."""
    scope = {f"inputs.parameters.{name}": value for name, value in GIVEN.items()}
    scope |= {"workflow.name": "run-1", **retry.attempt_variables(list(attempts))}
    _, *words = tags.substitute_tree(template["container"]["args"], scope)
    inputs = parsed(GangInput, words)
    return Manifest(inputs.run, inputs.job, inputs.group, inputs.arguments)


@pytest.mark.parametrize(
    ("noun", "is_gang"),
    [
        (training(nodes=1), False),
        (training(nodes=2), True),
        (training(nodes=1, queue=Queue("train")), True),
        (training(nodes=1, queue=Volcano()), True),
    ],
)
def test_several_nodes_and_a_queue_need_a_job_and_one_node_needs_none(noun, is_gang):
    assert (job_of(built(noun)["container"]) is not None) is is_gang


def test_in_a_workflow_of_ones_own_a_gang_is_one_template():
    with Workflow(generate_name="own-", entrypoint="train") as workflow:
        templates.train(training(), image="i")
    assert [(one["name"], job_of(one["container"]) is not None) for one in workflow.to_dict()["spec"]["templates"]] == [
        ("train", True)
    ]


@pytest.mark.parametrize("code", [None, CODE])
def test_a_nodes_pod_is_the_pod_that_one_node_has(code):
    one, many = built(training(nodes=1), code=code), pod(training(), code=code)
    (main,) = many["containers"]
    for key in ("volumes", "securityContext", "affinity", "initContainers"):
        assert many[key] == one[key]
    for key in ("image", "command", "workingDir", "securityContext", "volumeMounts"):
        assert main[key] == one["container"][key]
    assert main["env"][-len(one["container"]["env"]) :] == one["container"]["env"]
    differing = {word.partition("=")[0] for word in set(main["args"]) ^ set(one["container"]["args"])}
    assert differing == {"--nodes", "--run"}


def test_the_job_is_filled_in_with_what_the_template_is_given():
    template = built(training(), code=CODE)
    manifest = filled(template)
    assert "{{" not in json.dumps(manifest.job)
    name, *words = [word.replace("$$", "$") for word in manifest.main.args]
    inputs = parsed(TrainInput, words)
    assert (name, inputs.run, inputs.seed, inputs.nodes) == ("train", "run-1", 3, 2)
    assert inputs.hyperparameters["batch-size"] == "32"
    assert [one.name for one in manifest.preparations] == ["fetch-code", "ensure-data"]


def test_argo_finds_no_tag_in_the_job_itself():
    (word,) = [word for word in built(training())["container"]["args"] if word.startswith("--job=")]
    assert "{{" not in word
    assert "$(" not in word


def test_names_of_hyperparameters_cannot_meet_those_of_the_jobs_own_texts():
    from pydantic import create_model

    model = create_model("Own", run=(int, 1), pod_memory=(str, "x"), workflow_name=(str, "y"))()
    template = built(training(hyperparameters=model))
    words = [word for word in template["container"]["args"] if word.startswith("--arguments.")]
    assert len({word.partition("=")[0] for word in words}) == len(words)
    assert {
        "--arguments.pod-memory={{inputs.parameters.pod-memory}}",
        "--arguments.workflow_name={{workflow.name}}",
    } <= set(words)


def test_it_is_an_indexed_job_that_one_failure_ends():
    spec = job(training(nodes=3))["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    assert (spec["backoffLimit"], spec["podReplacementPolicy"]) == (0, "Failed")
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_nodes_meet_at_the_whole_name_of_the_first():
    (main,) = pod(training())["containers"]
    names = [one["name"] for one in main["env"]]
    values = {one["name"]: one.get("value") for one in main["env"]}
    assert values["ARGOSY_LEADER"] == "$(JOB_NAME)-0.argosy-gang.$(JOB_NAMESPACE).svc.cluster.local:29500"
    assert max(names.index("JOB_NAME"), names.index("JOB_NAMESPACE")) < names.index("ARGOSY_LEADER")
    assert pod(training())["subdomain"] == "argosy-gang"
    assert job(training())["spec"]["template"]["metadata"]["labels"] == {"argosy.dev/gang": "true"}


def test_users_code_has_no_token_and_what_makes_the_job_has_one_and_an_account_of_its_own():
    assert pod(training())["automountServiceAccountToken"] is False
    template = built(training())
    assert template["serviceAccountName"] == "argosy-gang"
    patch = json.loads(template["podSpecPatch"])
    mounted = {one["name"]: [mount["mountPath"] for mount in one["volumeMounts"]] for one in patch["containers"]}
    assert mounted["main"] == mounted["wait"] == ["/var/run/secrets/kubernetes.io/serviceaccount"]
    assert "serviceAccountName" not in built(training(nodes=1))


def test_what_makes_the_job_outlives_its_pods_grace():
    noun = training(grace="3m")
    assert pod(noun)["terminationGracePeriodSeconds"] == 180
    assert json.loads(built(noun)["podSpecPatch"])["terminationGracePeriodSeconds"] == 210


def test_outputs_and_inputs_are_those_of_one_node():
    one, many = built(training(nodes=1)), built(training())
    assert many["inputs"] == one["inputs"]
    assert many["outputs"] == one["outputs"]
    assert option("save_seconds") in {one["name"] for one in many["outputs"]["parameters"]}
    assert len(many["outputs"]["parameters"]) == len(TrainOutput.model_fields) + 1


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        ({}, {"/argosy/cache", "/argosy/models"}),
        ({"code": CODE}, {"/argosy/cache", "/argosy/models", "/argosy/project"}),
        (
            {"registry": Registry("x", tracking_uri="sqlite:////argosy/registry/m.db")},
            {"/argosy/cache", "/argosy/models", "/argosy/registry"},
        ),
    ],
)
def test_one_machine_finds_every_folder_that_the_nodes_are_told_of_and_a_cluster_gives_none_of_them_to_be_written(
    settings, paths
):
    mounts = {
        one["mountPath"]: one.get("readOnly", False)
        for one in built(training(), **settings)["container"]["volumeMounts"]
    }
    assert mounts == dict.fromkeys(paths, True) | {"/argosy/output": False, "/tmp": False}


def test_placement_reaches_the_jobs_pods_which_a_workflows_does_not():
    placement = Placement(node_selector={"disk": "nvme"}, tolerations=[Toleration(key="pool", value="x")])
    found = pod(training(), placement=placement)
    assert found["nodeSelector"] == {"disk": "nvme"}
    assert found["tolerations"] == [{"key": "pool", "value": "x", "operator": "Equal"}]


# ---------------------------------------------------------------------------------------------- queues


def test_a_queue_is_on_the_job_alone():
    made = job(training(queue=QUEUE))
    assert made["metadata"]["labels"] == {
        "kueue.x-k8s.io/queue-name": "train",
        "kueue.x-k8s.io/priority-class": "high",
    }
    assert "metadata" not in built(training(queue=QUEUE))
    assert job(training())["metadata"]["labels"] == {}


@pytest.mark.parametrize(("required", "word"), [(True, "required"), (False, "preferred")])
def test_topology_is_required_or_preferred(required, word):
    queue = Queue("train", topology=Topology("example.org/rack", required=required))
    annotations = job(training(queue=queue))["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {f"kueue.x-k8s.io/podset-{word}-topology": "example.org/rack"}


def test_a_range_of_nodes_is_admitted_in_part():
    noun = training(nodes=Nodes(at_least=2, at_most=4), queue=Queue("train"))
    made = job(noun)
    assert (made["spec"]["completions"], made["spec"]["parallelism"]) == (4, 4)
    assert made["metadata"]["annotations"] == {
        "kueue.x-k8s.io/job-min-parallelism": "2",
        "kueue.x-k8s.io/job-completions-equal-parallelism": "true",
    }
    (main,) = made["spec"]["template"]["spec"]["containers"]
    assert {"--nodes=4", "--nodes-at-least=2"} <= set(main["args"])
    assert job(training(queue=QUEUE))["metadata"]["annotations"] == {}


def test_volcano_schedules_the_pods_of_a_group():
    noun = training(nodes=3, queue=Volcano(queue="gpus", priority="high"))
    group = json.loads(option_of(built(noun)["container"], "group"))
    assert (group["apiVersion"], group["kind"]) == ("scheduling.volcano.sh/v1beta1", "PodGroup")
    assert group["spec"] == {"minMember": 3, "queue": "gpus", "priorityClassName": "high"}
    assert pod(noun)["schedulerName"] == "volcano"
    assert option_of(built(training(queue=QUEUE))["container"], "group") == ""
    assert "schedulerName" not in pod(training())


# ---------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize(("exit_code", "memory"), [("79", "6144Mi"), ("75", "4Gi"), (None, "4Gi")])
def test_the_next_job_has_more_memory_after_one_that_ran_out_of_it(exit_code, memory):
    last = Node(id="n", name="n", type="Pod", phase=FAILED, outputs=Values(exit_code=exit_code))
    (main,) = filled(built(training()), [last]).job["spec"]["template"]["spec"]["containers"]
    assert main["resources"]["limits"]["memory"] == main["resources"]["requests"]["memory"] == memory


# ---------------------------------------------------------------------------------------------- schemas


def unknown(value, schema, definitions, where="job"):
    """Fields and types of which a schema of Kubernetes' knows nothing."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if properties := schema.get("properties"):
        for key, part in value.items():
            if key in properties:
                yield from unknown(part, properties[key], definitions, f"{where}.{key}")
            else:
                yield f"{where}.{key}"
        yield from (f"{where} lacks {key}" for key in schema.get("required", []) if key not in value)
    elif schema.get("type") == "array":
        for number, part in enumerate(value):
            yield from unknown(part, schema["items"], definitions, f"{where}[{number}]")
    elif schema.get("type") == "object":
        for key, part in value.items():
            yield from unknown(part, schema.get("additionalProperties", {}), definitions, f"{where}.{key}")
    elif not isinstance(value, {"string": str, "integer": int, "boolean": bool}.get(schema.get("type"), object)):
        yield f"{where}: {value!r} is no {schema['type']}"


def test_kubernetes_schema_knows_every_field_of_the_job():
    swagger = next(MODULES.glob("k8s.io/kubernetes@*/api/openapi-spec/swagger.json"), None)
    if swagger is None:
        pytest.skip("needs Go's module k8s.io/kubernetes")
    definitions = json.loads(swagger.read_text())["definitions"]
    noun = training(
        nodes=Nodes(at_least=1, at_most=3),
        queue=QUEUE,
        shared_memory="1Gi",
        resources=Resources(cpu=1, memory="4Gi", gpus=1),
    )
    made = filled(built(noun, code=CODE, registry=Registry("x"), storage=Storage(cache=Claim("c")))).job
    assert list(unknown(made, definitions["io.k8s.api.batch.v1.Job"], definitions)) == []


def test_volcanos_types_know_every_field_of_the_group():
    types = next(MODULES.glob("volcano.sh/apis@*/pkg/apis/scheduling/v1beta1/types.go"), None)
    if types is None:
        pytest.skip("needs Go's module volcano.sh/apis")
    spec = re.search(r"type PodGroupSpec struct \{(.*?)\n\}", types.read_text(), re.DOTALL)[1]
    fields = {name: kind for kind, name in re.findall(r'^\s+\w+ +(\S+) +`json:"(\w+)', spec, re.MULTILINE)}
    group = json.loads(option_of(built(training(queue=Volcano(priority="high")))["container"], "group"))
    assert group["spec"].keys() <= fields.keys()
    assert fields["minMember"] == "int32"


def test_a_manifest_with_a_job_passes_every_check():
    pipeline = Pipeline(
        name="digits",
        dataset=Dataset("data/digits"),
        training=training(nodes=Nodes(at_least=2, at_most=4), queue=QUEUE),
        gates=[Accuracy(at_least=0.9)],
        registry=Registry("digits"),
        image="i",
    )
    assert check_manifest(pipeline.workflow().to_dict()) == []


def test_what_trains_is_found_in_the_job():
    (main,) = trainings(built(training())["container"])
    assert option_of(main, "task") == "a:B"
    assert list(trainings({"command": ["python", "-m", "argosy.steps"], "args": ["gang", "--job=no"]})) == []
