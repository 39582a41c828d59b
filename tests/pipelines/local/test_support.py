"""What one machine can do without, and what it cannot."""

import platform

import pytest

from argosy.pipelines import (
    Accelerator,
    Accuracy,
    Dataset,
    Nodes,
    Pipeline,
    Queue,
    Registry,
    Resources,
    Topology,
    Training,
    Volcano,
)
from argosy.pipelines.compile import compiled
from argosy.pipelines.local.runner import LocalRuns, RunError

SPEC = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{generateName: test-}}
spec:
  entrypoint: main
  {workflow}
  templates:
  - name: main
    {template}
    container: {{image: x, command: [sh, -c], args: ["ls /secrets; echo key=$KEY"], {container}}}
"""


@pytest.fixture
def prepare(tmp_path):
    def call(workflow="", template="", container=""):
        text = SPEC.format(workflow=workflow, template=template, container=container)
        return LocalRuns(tmp_path).prepare(text, {})

    return call


@pytest.mark.parametrize("kind", ["configMapRef", "secretRef"])
def test_an_optional_environment_is_left_out_with_a_note(kind, prepare):
    found = prepare(container=f"envFrom: [{{{kind}: {{name: argosy-data, optional: true}}}}]")
    assert found.left_out == ("envFrom",)


@pytest.mark.parametrize(("kind", "noun"), [("configMapRef", "ConfigMap"), ("secretRef", "Secret")])
@pytest.mark.parametrize("optional", ["", ", optional: false"])
def test_an_environment_that_is_needed_is_refused_by_its_name(kind, noun, optional, prepare):
    with pytest.raises(RunError, match=f"main.: envFrom: {noun} 'keys' cannot be had on one machine; write `optional"):
        prepare(container=f"envFrom: [{{{kind}: {{name: keys{optional}}}}}]")


def test_one_needed_environment_among_optional_ones_of_an_init_container_is_found(prepare):
    init = "{name: i, command: ['true'], envFrom: [{secretRef: {name: a, optional: true}}, {secretRef: {name: b}}]}"
    with pytest.raises(RunError, match="Secret 'b'"):
        prepare(template=f"initContainers: [{init}]")


def test_a_single_variable_from_a_secret_is_refused(prepare):
    source = "{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}"
    with pytest.raises(RunError, match=r"env\[0\].valueFrom.secretKeyRef: cannot be run on one machine"):
        prepare(container=f"env: [{source}]")


def variable(field):
    return f"{{name: WHERE, valueFrom: {{fieldRef: {{fieldPath: {field}}}}}}}"


def test_a_pods_node_is_this_machine_in_every_container(run):
    tell = {"image": "x", "command": ["sh", "-c", "echo on $WHERE >> /tmp/where"]}
    node = [{"name": "WHERE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}]
    template = {
        "name": "main",
        "initContainers": [{"name": "first", **tell, "env": node}],
        "container": {**tell, "env": [*node, {"name": "THERE", "value": "$(WHERE)"}]},
        "outputs": {"parameters": [{"name": "where", "valueFrom": {"path": "/tmp/where"}}]},
    }
    ended = run({"entrypoint": "main", "templates": [template]})
    (node,) = ended.status.nodes.values()
    assert (node.phase, node.outputs.parameters[0].value) == ("Succeeded", "\n".join([f"on {platform.node()}"] * 2))


def test_another_field_of_a_pod_is_refused_by_its_name(prepare):
    said = r"env WHERE: fieldRef 'status.podIP' cannot be had on one machine; a variable can be spec.nodeName"
    with pytest.raises(RunError, match=said):
        prepare(container=f"env: [{variable('status.podIP')}]")
    with pytest.raises(RunError, match=said):
        prepare(template=f"initContainers: [{{name: i, command: ['true'], env: [{variable('status.podIP')}]}}]")


def test_a_preferred_node_is_left_out_with_a_note(prepare):
    term = "{matchFields: [{key: metadata.name, operator: In, values: [there]}]}"
    affinity = (
        f"{{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 100, preference: {term}}}]}}}}"
    )
    assert prepare(template=f"affinity: {affinity}").left_out == ("affinity",)


def test_the_service_account_is_left_out_with_a_note(prepare):
    assert prepare(workflow="serviceAccountName: argosy-steps").left_out == ("serviceAccountName",)
    assert prepare(template="serviceAccountName: argosy-steps").left_out == ("serviceAccountName",)


def test_an_optional_secrets_files_are_an_empty_folder(run):
    template = {
        "name": "main",
        "volumes": [{"name": "keys", "secret": {"secretName": "keys", "optional": True}}],
        "container": {
            "image": "x",
            "command": ["sh", "-c", "ls -A /secrets > /tmp/found"],
            "volumeMounts": [{"name": "keys", "mountPath": "/secrets"}],
        },
        "outputs": {"parameters": [{"name": "found", "valueFrom": {"path": "/tmp/found"}}]},
    }
    ended = run({"entrypoint": "main", "templates": [template]})
    (node,) = ended.status.nodes.values()
    assert (node.phase, node.outputs.parameters[0].value) == ("Succeeded", "")


def test_a_secrets_files_that_are_needed_are_refused_by_the_volumes_name(prepare):
    with pytest.raises(RunError, match="volume 'keys': secret cannot be had on one machine"):
        prepare(template="volumes: [{name: keys, secret: {secretName: keys}}]")


def test_the_whole_workflows_volumes_are_looked_at_too(prepare):
    with pytest.raises(RunError, match="spec: volume 'disk': nfs cannot be had on one machine"):
        prepare(workflow="volumes: [{name: disk, nfs: {server: s, path: /}}]")
    optional = "{name: keys, configMap: {name: keys, optional: true}}"
    assert prepare(workflow=f"volumes: [{optional}]").left_out == ("configMap",)


def test_an_artifact_that_is_not_packed_is_kept_under_its_files_name(run):
    template = {
        "name": "main",
        "container": {"image": "x", "command": ["sh", "-c", "echo page > /tmp/report.html; exit 80"]},
        "outputs": {"artifacts": [{"name": "report", "path": "/tmp/report.html", "archive": {"none": {}}}]},
    }
    ended = run({"entrypoint": "main", "templates": [template]})
    (node,) = ended.status.nodes.values()
    (file,) = node.outputs.artifacts
    assert node.phase == "Failed"
    assert file.s3["key"].endswith("/report.html")
    assert (ended.folder.artifacts / file.s3["key"]).read_text() == "page\n"


@pytest.fixture
def left_out(tmp_path):
    """What is left out of a pipeline with such a training."""

    def call(**settings):
        pipeline = Pipeline(
            name="digits",
            dataset=Dataset("data/digits"),
            training=Training(task="a:B", **settings),
            gates=[Accuracy(at_least=0.9)],
            registry=Registry("digits"),
            image="i",
        )
        return set(LocalRuns(tmp_path).prepare(compiled(pipeline), {}).left_out)

    return call


def test_what_a_training_asks_of_a_cluster_alone_is_named(left_out):
    asked = left_out(
        nodes=Nodes(at_least=2, at_most=4),
        queue=Queue("train", priority="high", topology=Topology("rack")),
        resources=Resources(cpu=1, memory="1Gi", gpus=1, accelerator=Accelerator(product="A100")),
    )
    assert {"queue", "priority", "topology", "nodes at least", "accelerator"} <= asked


def test_volcanos_queue_and_one_nodes_accelerator_are_named_too(left_out):
    kind = Accelerator(memory_at_least="10Gi")
    assert "accelerator" in left_out(resources=Resources(cpu=1, memory="1Gi", gpus=1, accelerator=kind))
    assert "queue" in left_out(queue=Volcano())
    assert not {"queue", "accelerator"} & left_out(nodes=2)
