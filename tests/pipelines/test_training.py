"""A training as a pod: its settings reach the step, and its memory, its nodes and its stores are those it asks for."""

import json

import pytest

from argosy.pipelines import (
    Accelerator,
    Checkpoints,
    Loop,
    Registry,
    Resources,
    Storage,
    Training,
    templates,
)
from argosy.pipelines.expressions import tags
from argosy.pipelines.local import retry
from argosy.pipelines.local.podstep import _grace
from argosy.pipelines.manifest import Template, convert
from argosy.pipelines.status import FAILED, Node, Values
from argosy.steps import contracts
from argosy.steps.arguments import parsed
from argosy.steps.contracts import TrainInput

GIVEN = {"dataset-hash": "0" * 32, "seed": "7"}


def built(training, **settings):
    made = templates.train(training, image="i", **settings)._build_template()
    return made.model_dump(exclude_none=True, by_alias=True)


def inputs(training, **settings):
    """What the step reads."""
    _, *words = built(training, **settings)["container"]["args"]
    for name, value in GIVEN.items():
        words = [word.replace(f"{{{{inputs.parameters.{name}}}}}", value) for word in words]
    return parsed(TrainInput, [word.replace("{{workflow.name}}", "run-1") for word in words])


def environment(template):
    return {one["name"]: one.get("value") for one in template["container"]["env"]}


def sources(template):
    found = template["container"].get("envFrom", [])
    return [reference["name"] for one in found for reference in one.values()][::2]


# ---------------------------------------------------------------------------------------------- settings


def test_every_setting_reaches_the_step():
    training = Training(
        task="a:B",
        loop=Loop(precision="bfloat16", clip_norm=1, schedule="cosine", patience=3, evaluate_every_epochs=1),
        ranks_per_node=3,
        loader_workers=5,
        streaming=True,
        checkpoints=Checkpoints(every="90s", hours_between_failures=6, keep=4, store="s3://bucket/a/b"),
        grace="5m",
        hang_factor=12.5,
        hang_after="1m",
    )
    assert inputs(training).model_dump(exclude={"output", "cache", "models", "dataset_hash"}) == {
        "task": "a:B",
        "run": "run-1",
        "script": "",
        "loop": dict(training.loop),
        "nodes": 1,
        "nodes_at_least": 0,
        "ranks": 3,
        "gpus": 0,
        "seed": 7,
        "loader_workers": 5,
        "streaming": True,
        "checkpoint_every_seconds": 90,
        "hours_between_failures": 6,
        "checkpoints_kept": 4,
        "checkpoint_store": "s3://bucket/a/b",
        "grace_seconds": 300,
        "hang_factor": 12.5,
        "hang_seconds": 60,
        "tracking_uri": "",
        "hyperparameters": {},
    }


def test_no_field_of_the_steps_contract_is_left_to_a_default_that_a_pipeline_cannot_change():
    named = {word.removeprefix("--").partition("=")[0] for word in built(Training(task="a:B"))["container"]["args"][1:]}
    assert {contracts.option(field) for field in TrainInput.model_fields} - named == {"hyperparameters"}


def test_defaults_are_the_contracts():
    read = inputs(Training(task="a:B"))
    for field in ("loop", "hours_between_failures", "hang_factor", "hang_seconds", "loader_workers", "streaming"):
        default = TrainInput.model_fields[field].default
        given = getattr(read, field)
        assert (given.model_dump() if field == "loop" else given) == (
            default.model_dump() if field == "loop" else default
        )


def test_the_loops_settings_are_the_contracts_own():
    assert Loop.model_fields.keys() == contracts.Loop.model_fields.keys()
    assert issubclass(Loop, contracts.Loop)


def test_a_script_reaches_the_step():
    assert inputs(Training(task="a:B", script="vision/train.py")).script == "vision/train.py"


def test_an_interval_that_is_chosen_is_zero():
    assert inputs(Training(task="a:B", checkpoints=Checkpoints(every=None))).checkpoint_every_seconds == 0


def test_shared_memory_has_its_size_or_the_pods():
    def volume(**settings):
        volumes = built(Training(task="a:B", **settings))["volumes"]
        return next(one["emptyDir"] for one in volumes if one["name"] == "shared-memory")

    assert volume() == {"medium": "Memory"}
    assert volume(shared_memory="1Gi") == {"medium": "Memory", "sizeLimit": "1Gi"}


def test_ones_own_variables_count_more_than_argosys():
    gpus = Resources(cpu=1, memory="4Gi", gpus=1)
    assert environment(built(Training(task="a:B", resources=gpus)))["NCCL_DEBUG"] == "WARN"
    own = Training(task="a:B", resources=gpus, environment={"NCCL_DEBUG": "INFO", "X": "y"})
    assert {"NCCL_DEBUG": "INFO", "X": "y"}.items() <= environment(built(own)).items()
    assert "NCCL_DEBUG" not in environment(built(Training(task="a:B")))


# ---------------------------------------------------------------------------------------------- stores


def test_credentials_of_a_bucket_reach_training_only_where_checkpoints_go_there():
    assert sources(built(Training(task="a:B"))) == []
    stored = Checkpoints(store="s3://bucket", environment="mine")
    assert sources(built(Training(task="a:B", checkpoints=stored))) == ["mine"]


def test_metrics_go_where_the_model_is_published():
    registry = Registry("digits", tracking_uri="https://mlflow.example.org")
    template = built(Training(task="a:B"), registry=registry, storage=Storage(registry_environment="reg"))
    assert "--tracking-uri=https://mlflow.example.org" in template["container"]["args"]
    assert environment(template)["MLFLOW_EXPERIMENT_NAME"] == "digits"
    assert sources(template) == ["reg"]


def test_a_database_on_the_registrys_volume_is_mounted_and_no_volume_otherwise():
    database = Registry("digits", tracking_uri="sqlite:////argosy/registry/mlflow.db")
    mounts = built(Training(task="a:B"), registry=database)["container"]["volumeMounts"]
    assert {"name": "registry", "mountPath": "/argosy/registry"} in mounts
    template = built(Training(task="a:B"), registry=Registry("digits"))
    assert "registry" not in {one["name"] for one in template["volumes"]}


def test_training_that_keeps_no_metrics_sees_nothing_of_the_registry():
    registry = Registry("digits", tracking_uri="https://mlflow.example.org")
    template = built(Training(task="a:B", metrics=False), registry=registry)
    assert sources(template) == []
    assert "MLFLOW_EXPERIMENT_NAME" not in environment(template)
    assert "--tracking-uri=" in template["container"]["args"]


# ---------------------------------------------------------------------------------------------- accelerators


@pytest.mark.parametrize(
    ("resource", "gpus"),
    [("nvidia.com/gpu", 1), ("nvidia.com/mig-1g.10gb", 1), ("amd.com/gpu", 1), ("habana.ai/gaudi", 0)],
)
def test_an_accelerator_is_asked_for_by_its_resource_and_counted_as_a_gpu_where_it_is_one(resource, gpus):
    asked = Resources(cpu=1, memory="4Gi", gpus=1, accelerator=Accelerator(resource))
    template = built(Training(task="a:B", script="train.py", resources=asked))
    assert template["container"]["resources"]["limits"][resource] == "1"
    assert f"--gpus={gpus}" in template["container"]["args"]
    assert resource not in template["initContainers"][0]["resources"]["limits"]


def test_product_and_memory_are_labels_that_a_node_must_have():
    kind = Accelerator(product="NVIDIA-A100-SXM4-80GB", memory_at_least="40G")
    asked = Resources(cpu=1, memory="4Gi", gpus=1, accelerator=kind)
    affinity = built(Training(task="a:B", resources=asked))["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-A100-SXM4-80GB"]},
        {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["38146"]},  # 40e9 bytes are 38146.97 MiB
    ]
    assert "preferredDuringSchedulingIgnoredDuringExecution" in affinity


# ---------------------------------------------------------------------------------------------- memory


def after(attempts, training):
    """The patch of the attempt after these, as the engine makes it."""
    template = built(training)
    return json.loads(tags.substitute(template["podSpecPatch"], retry.attempt_variables(attempts)))


def attempt(exit_code, message=""):
    outputs = Values(exit_code=exit_code) if exit_code else None
    return Node(id="n", name="n", type="Pod", phase=FAILED, outputs=outputs, message=message)


@pytest.mark.parametrize(
    ("attempts", "memory"),
    [
        ([], "4Gi"),
        ([attempt("79", "main: Error (exit code 79): rank 0 was killed: out of memory")], "6144Mi"),
        ([attempt("137", "main: OOMKilled (exit code 137)")], "6144Mi"),
        ([attempt("137", "main: Error (exit code 137)")], "4Gi"),
        ([attempt("143")], "4Gi"),
        ([attempt(None, "pod deleted")], "4Gi"),
        ([attempt("79"), attempt("75")], "4Gi"),
    ],
)
def test_only_the_attempt_after_one_that_ran_out_of_memory_has_more(attempts, memory):
    (main,) = [one for one in after(attempts, Training(task="a:B"))["containers"] if one["name"] == "main"]
    assert main["resources"] == {"limits": {"memory": memory}, "requests": {"memory": memory}}


def test_how_much_more_can_be_said():
    (main, _) = after([attempt("79")], Training(task="a:B", more_memory="5Gi"))["containers"]
    assert main["resources"]["limits"]["memory"] == "5Gi"


def test_one_machine_reads_the_grace_of_a_patch_that_a_retry_fills_in():
    template = built(Training(task="a:B", grace="90s"))
    patch = tags.substitute(template["podSpecPatch"], retry.attempt_variables([]))
    assert _grace(convert({"name": "train", "podSpecPatch": patch}, Template)) == 90
