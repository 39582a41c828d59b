"""The pod of one node of a training."""

from hera.workflows import Container

from argosy.pipelines import assembly, executor, pods, quantities
from argosy.pipelines.assembly import Surroundings
from argosy.pipelines.calls import Call, Tag
from argosy.pipelines.code import Git
from argosy.pipelines.folders import CACHE, MODELS, OUTPUT
from argosy.pipelines.placement import Storage
from argosy.pipelines.spec import Registry
from argosy.pipelines.training import Training
from argosy.steps.contracts import Step

EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
"""MLflow's environment variable: the experiment that publishing uses has the registered model's name."""


def training_pod(
    training: Training,
    name: str,
    image: str,
    *,
    storage: Storage,
    code: Git | None,
    registry: Registry | None,
    run: str = "{{workflow.name}}",
) -> Container:
    """A template whose pod trains; `run` is a tag."""
    call = Call(
        Step.TRAIN,
        fixed={"output": OUTPUT, "cache": CACHE, "models": MODELS, "run": Tag(run), **_settings(training, registry)},
        defaults={one.name: one.value for one in training.tuned},
        keys=[one.name for one in training.tuned],
    )
    template = assembly.pod_with_data(
        call,
        name,
        image,
        training.resources,
        _surroundings(training, storage, registry),
        storage=storage,
        code=code,
        retries=pods.MANY,
    )
    memory = pods.memory_of_attempt(training.resources.memory, training.memory_after_running_out)
    template.pod_spec_patch = executor.patch(int(quantities.seconds(training.grace)), memory=memory)
    return template


def database(registry: Registry | None) -> bool:
    """Whether metrics go to a database on the registry's volume."""
    return registry is not None and (registry.tracking_uri or "").startswith("sqlite:")


def _settings(training: Training, registry: Registry | None) -> dict[str, object]:
    """The fields of the step's contract that the noun says."""
    checkpoints, accelerator = training.checkpoints, training.resources.accelerator
    return {
        "task": training.task,
        "script": training.script or "",
        "loop": training.loop,
        "nodes": training.nodes_at_most,
        "nodes_at_least": training.nodes_at_least,
        "ranks": training.ranks_per_node,
        "gpus": training.resources.gpus if accelerator.is_a_gpu else 0,
        "loader_workers": training.loader_workers,
        "streaming": training.streaming,
        "checkpoint_every_seconds": checkpoints.seconds,
        "hours_between_failures": checkpoints.hours_between_failures,
        "checkpoints_kept": checkpoints.keep,
        "checkpoint_store": checkpoints.store or "",
        "grace_seconds": quantities.seconds(training.grace),
        "hang_factor": training.hang_factor,
        "hang_seconds": quantities.seconds(training.hang_after),
        "tracking_uri": registry.tracking_uri or "" if registry else "",
    }


def _surroundings(training: Training, storage: Storage, registry: Registry | None) -> Surroundings:
    checkpoints = training.checkpoints
    return Surroundings(
        mounts=[
            assembly.model_store(storage),
            pods.shared_memory(training.shared_memory),
            *([assembly.registry_volume(storage)] if database(registry) else []),
        ],
        environments=[
            *([storage.registry_environment] if registry else []),
            *([checkpoints.environment] if checkpoints.store else []),
        ],
        variables=({EXPERIMENT: registry.name} if registry else {}) | training.variables,
    )
