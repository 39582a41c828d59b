"""The steps as Hera templates: derived from the contracts, and usable in any workflow."""

import pytest

from argosy.pipelines import Accuracy, Dataset, Latency, Memory, Registry, Resources, Storage, Training, templates
from argosy.pipelines.expressions import expr
from argosy.steps.arguments import parsed
from argosy.steps.contracts import CONTRACTS, RETRIED_EXIT_CODES, ExitCode, Step, option
from argosy.steps.digits_hyperparameters import DigitsHyperparameters

GIVEN = {
    "dataset": "data/digits",
    "dataset-hash": "0123456789abcdef0123456789abcdef.dir",
    "model": "run/model",
    "model-hash": "f" * 64,
    "accuracy-gate": '{"gate":"accuracy-gate","answer":"pass","metric":"accuracy","estimate":0.95,"bound":0.93,'
    '"threshold":0.9,"margin":0.03,"confidence":0.95,"samples":360,"reason":"good"}',
}
TASK = "argosy.steps.digits:Digits"
ALL = {
    Step.STAGE: templates.stage(Dataset("data/digits"), image="i"),
    Step.TRAIN: templates.train(Training(task=TASK, hyperparameters=DigitsHyperparameters()), image="i"),
    Step.ACCURACY_GATE: templates.gate(Accuracy(at_least=0.9), task=TASK, image="i"),
    Step.LATENCY_GATE: templates.gate(Latency(quantile=0.99, at_most_ms=50), task=TASK, image="i"),
    Step.MEMORY_GATE: templates.gate(Memory(at_most_mib=100), task=TASK, image="i"),
    Step.PUBLISH: templates.publish(Registry("digits"), gates=["accuracy-gate"], task=TASK, image="i"),
}
each_step = pytest.mark.parametrize("step", Step)


def built(step):
    return ALL[step]._build_template().model_dump(exclude_none=True, by_alias=True)


def replaced(template, words):
    """What Argo makes of the arguments."""
    values = {one["name"]: one.get("default") for one in template["inputs"]["parameters"]} | GIVEN
    for name, value in values.items():
        words = [word.replace(f"{{{{inputs.parameters.{name}}}}}", value or "") for word in words]
    for name, value in {"name": "run-1", "uid": "u-1", "parameters.json": "[]"}.items():
        words = [word.replace(f"{{{{workflow.{name}}}}}", value) for word in words]
    return words


@each_step
def test_arguments_are_what_the_step_takes(step):
    template = built(step)
    name, *words = replaced(template, template["container"]["args"])
    assert name == step
    parsed(CONTRACTS[step][0], words)


@each_step
def test_outputs_are_the_fields_that_the_step_gives_and_the_record(step):
    found = {one["name"]: one["valueFrom"]["path"] for one in built(step)["outputs"]["parameters"]}
    expected = {option(field): f"/argosy/output/{option(field)}" for field in CONTRACTS[step][1].model_fields}
    assert found == expected | {"record": "/argosy/output/record.json"}


@each_step
def test_no_value_passes_through_a_shell(step):
    template = built(step)
    assert "script" not in template
    for pod in [template["container"], *template.get("initContainers", [])]:
        assert pod["command"] == ["python", "-m", "argosy.steps"]
        assert all(word.startswith("--") for word in pod["args"][1:])


@each_step
def test_pods_have_no_rights_that_they_do_not_need(step):
    template = built(step)
    assert template["securityContext"]["runAsNonRoot"]
    for pod in [template["container"], *template.get("initContainers", [])]:
        rights = pod["securityContext"]
        assert (rights["allowPrivilegeEscalation"], rights["readOnlyRootFilesystem"]) == (False, True)
        assert rights["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("step", "writable"),
    [
        (Step.STAGE, {"/argosy/cache"}),
        (Step.TRAIN, {"/argosy/models", "/dev/shm"}),
        (Step.ACCURACY_GATE, set()),
        (Step.PUBLISH, {"/argosy/registry"}),
    ],
)
def test_a_step_can_write_only_what_it_makes(step, writable):
    mounts = built(step)["container"]["volumeMounts"]
    found = {one["mountPath"] for one in mounts if not one.get("readOnly")}
    assert found == writable | {"/argosy/output", "/tmp"}


@pytest.mark.parametrize("step", [Step.TRAIN, Step.ACCURACY_GATE, Step.LATENCY_GATE, Step.MEMORY_GATE])
def test_data_is_ensured_on_whichever_node_the_pod_came_to(step):
    (ensure,) = built(step)["initContainers"]
    name, *words = replaced(built(step), ensure["args"])
    inputs = parsed(CONTRACTS[Step(name)][0], words)
    assert inputs.expect == GIVEN["dataset-hash"]
    assert "readOnly" not in next(one for one in ensure["volumeMounts"] if one["mountPath"] == "/argosy/cache")


@pytest.mark.parametrize("step", [Step.TRAIN, Step.ACCURACY_GATE])
def test_the_record_of_ensuring_is_not_taken_for_the_steps_own(step):
    (ensure,) = built(step)["initContainers"]
    assert "--output=/argosy/output/ensure-data" in ensure["args"]


@each_step
def test_infrastructure_alone_is_tried_again(step):
    strategy = built(step)["retryStrategy"]
    assert (strategy["limit"], strategy["retryPolicy"]) == (5, "Always")

    def is_retried(code, status="Failed", message=""):
        known = {"exitCode": str(code), "status": status, "message": message}
        return expr.evaluate(strategy["expression"], {"lastRetry": known})

    lasting = {ExitCode.CODE, ExitCode.DATA, ExitCode.CONFIGURATION, ExitCode.GATE_FAILED, 139}
    assert all(is_retried(code) for code in RETRIED_EXIT_CODES)
    assert not any(is_retried(code) for code in lasting)
    assert is_retried(0, "Error", "wait: Error (exit code 64)")


def test_damaged_data_is_not_fetched_again_and_again():
    expression = built(Step.TRAIN)["retryStrategy"]["expression"]

    def is_retried(message):
        known = {"exitCode": "-1", "status": "Failed", "message": message}
        return expr.evaluate(expression, {"lastRetry": known})

    assert not is_retried("ensure-data: Error (exit code 65): data/digits: 3 files are damaged")
    assert is_retried("ensure-data: Error (exit code 75): the remote did not answer")
    assert is_retried("pod deleted")


def test_training_has_its_grace_and_no_more_ranks_than_gpus():
    training = Training(task=TASK, ranks_per_node=2, resources=Resources(cpu=8, memory="64Gi", gpus=2), grace="5m")
    template = templates.train(training, image="i")._build_template().model_dump(exclude_none=True, by_alias=True)
    assert template["podSpecPatch"] == '{"terminationGracePeriodSeconds": 300}'
    assert template["container"]["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert {"--ranks=2", "--gpus=2"} <= set(template["container"]["args"])
    assert "nvidia.com/gpu" not in template["initContainers"][0]["resources"]["limits"]


def test_a_server_that_keeps_the_registry_needs_no_volume():
    registry = Registry("digits", tracking_uri="https://mlflow.example.org")
    template = templates.publish(registry, gates=["g"], task=TASK, image="i")._build_template()
    assert "--artifacts=" in template.container.args
    assert "registry" not in {one.name for one in template.volumes}


def test_storage_names_the_cache_and_the_claims():
    storage = Storage(cache="/mnt/nvme", models_claim="m", registry_claim="r")
    template = templates.publish(Registry("digits"), gates=["g"], task=TASK, image="i", storage=storage)
    assert {one.persistent_volume_claim.claim_name for one in template.volumes if one.persistent_volume_claim} == {
        "m",
        "r",
    }
    (cache,) = [one for one in templates.stage(Dataset("d"), image="i", storage=storage).volumes if one.name == "cache"]
    assert cache.host_path.path == "/mnt/nvme"
