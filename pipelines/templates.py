"""The steps as ordinary Hera templates: one function for each, to be used in any DAG.

A template's inputs and outputs are named as the fields of its step's contract are (`argosy.steps.contracts`), in
kebab-case. It needs nothing else from the workflow that it stands in.
"""

import json
from collections.abc import Sequence

from hera.workflows import Container, UserContainer, models

from argosy.pipelines import pods, quantities
from argosy.pipelines.calls import COMMAND, Call, Tag, text
from argosy.pipelines.gates import Gate
from argosy.pipelines.placement import Resources, Storage
from argosy.pipelines.pods import ENSURE, Mount
from argosy.pipelines.spec import REGISTRY_FOLDER, Dataset, Registry, Training
from argosy.steps import values
from argosy.steps.contracts import CONTRACTS, TERMINATION_LOG, Step, option

CACHE = "/argosy/cache"
MODELS = "/argosy/models"
OUTPUT = "/argosy/output"
PROJECT = "/argosy/project"
TERMINATION_PATH = "/dev/termination-log"

DEFAULT_STORAGE = Storage()


def stage(dataset: Dataset, *, image: str, storage: Storage = DEFAULT_STORAGE, name: str = Step.STAGE) -> Container:
    """Lays the dataset out in the node's cache.

    Inputs: `dataset` and `revision`, both with defaults. Outputs: those of `StageOutput`, and `record`.
    """
    call = Call(
        Step.STAGE,
        fixed={"output": OUTPUT, "project": PROJECT, "cache": CACHE},
        defaults={"dataset": values.encode(dataset.path)},
    )
    return _template(call, name, image, dataset.resources, [_cache(storage)])


def train(training: Training, *, image: str, storage: Storage = DEFAULT_STORAGE, name: str = Step.TRAIN) -> Container:
    """Trains the task and exports its model.

    Inputs: `dataset`, `dataset-hash`, `revision`, `seed`, and each hyperparameter by its name, with the noun's value as
    default. Outputs: those of `TrainOutput`, and `record`.
    """
    call = Call(
        Step.TRAIN,
        fixed={
            "output": OUTPUT,
            "task": training.task,
            "cache": CACHE,
            "models": MODELS,
            "run": Tag("{{workflow.name}}"),
            "ranks": training.ranks_per_node,
            "gpus": training.resources.gpus,
            "checkpoint_every_seconds": quantities.seconds(training.checkpoints.every),
            "checkpoints_kept": training.checkpoints.keep,
        },
        defaults={one.name: one.value for one in training.tuned},
        keys=[one.name for one in training.tuned],
    )
    # A container's own /dev/shm holds 64 MiB: too little for loaders and for NCCL.
    shared_memory = pods.scratch("shared-memory", "/dev/shm", medium="Memory")  # noqa: S108 - a mount point
    mounts = [_cache(storage).as_read_only(), _models(storage), shared_memory]
    template = _template(call, name, image, training.resources, mounts, ensured=_cache(storage))
    # A template has no field of its own for it (argo: pkg/apis/workflow/v1alpha1/workflow_types.go, Template).
    template.pod_spec_patch = json.dumps({"terminationGracePeriodSeconds": int(quantities.seconds(training.grace))})
    return template


def gate(gate: Gate, *, task: str, image: str, storage: Storage = DEFAULT_STORAGE) -> Container:
    """Judges an exported model; a verdict other than pass ends the pod with an exit code of its own.

    Inputs: `dataset`, `dataset-hash`, `revision`, `model`, `model-hash`, and the gate's settings with the noun's values
    as defaults. Outputs: those of `GateOutput`, and `record`.
    """
    settings = [field for field in CONTRACTS[gate.step][0].model_fields if field in type(gate).model_fields]
    call = Call(
        gate.step,
        fixed={
            "output": OUTPUT,
            "task": task,
            "cache": CACHE,
            "models": MODELS,
            "gpus": gate.resources.gpus,
            "gate": gate.name,
        },
        defaults={option(field): text(getattr(gate, field)) for field in settings},
    )
    mounts = [_cache(storage).as_read_only(), _models(storage).as_read_only()]
    return _template(call, gate.name, image, gate.resources, mounts, ensured=_cache(storage))


def publish(
    registry: Registry,
    *,
    gates: Sequence[str],
    task: str,
    image: str,
    storage: Storage = DEFAULT_STORAGE,
    name: str = Step.PUBLISH,
) -> Container:
    """Registers the model with its recipe and moves the alias.

    Inputs: `dataset`, `dataset-hash`, `revision`, `model`, `model-hash`, and the verdict of each gate by the gate's
    name. Outputs: those of `PublishOutput`, and `record`. The workflow must have parameters: they go into the recipe.
    """
    call = Call(
        Step.PUBLISH,
        fixed={
            "output": OUTPUT,
            "registry": registry.name,
            "alias": registry.alias,
            "tracking_uri": registry.tracking_uri,
            "artifacts": f"{REGISTRY_FOLDER}/artifacts" if registry.is_on_volume else "",
            "models": MODELS,
            "run": Tag("{{workflow.name}}"),
            "run_uid": Tag("{{workflow.uid}}"),
            "task": task,
            "image": image,
            "parameters": Tag("{{workflow.parameters.json}}"),
        },
        keys=gates,
    )
    mounts = [_models(storage).as_read_only()]
    if registry.is_on_volume:
        mounts.append(pods.claim("registry", REGISTRY_FOLDER, storage.registry_claim))
    return _template(call, name, image, registry.resources, mounts)


def _cache(storage: Storage) -> Mount:
    return pods.node_folder("cache", CACHE, storage.cache)


def _models(storage: Storage) -> Mount:
    return pods.claim("models", MODELS, storage.models_claim)


def _template(
    call: Call, name: str, image: str, resources: Resources, mounts: Sequence[Mount], *, ensured: Mount | None = None
) -> Container:
    """A template of one step; `ensured` is the cache into which an init container puts the dataset first."""
    mounts = [*mounts, pods.scratch("output", OUTPUT), pods.scratch("tmp", "/tmp")]  # noqa: S108 - a mount point
    ensure = _ensure(image, resources, [ensured, *mounts[-2:]]) if ensured else None
    inputs = {one.name: one for one in [*call.inputs(), *(_ENSURE.inputs() if ensure else [])]}
    return Container(
        name=name,
        image=image,
        command=list(COMMAND),
        args=call.arguments(),
        working_dir=PROJECT,
        env={TERMINATION_LOG: TERMINATION_PATH},
        inputs=models.Inputs(parameters=list(inputs.values())),
        outputs=models.Outputs(parameters=call.outputs()),
        resources=pods.requirements(resources),
        volumes=[mount.volume for mount in mounts],
        volume_mounts=[mount.model() for mount in mounts],
        init_containers=[ensure] if ensure else None,
        retry_strategy=pods.retries(ensures_data=ensure is not None),
        security_context=pods.container_rights(),
        pod_security_context=pods.pod_rights(),
        termination_message_policy="FallbackToLogsOnError",
    )


_ENSURE = Call(
    Step.STAGE,
    fixed={
        # A folder of its own, or main would find a record before it had done anything.
        "output": f"{OUTPUT}/{ENSURE}",
        "project": PROJECT,
        "cache": CACHE,
        "expect": Tag("{{inputs.parameters.dataset-hash}}"),
    },
)


def _ensure(image: str, resources: Resources, mounts: Sequence[Mount]) -> UserContainer:
    """Stages again, on whichever node the pod came to: at once when the dataset is there."""
    return UserContainer(
        name=ENSURE,
        image=image,
        command=list(COMMAND),
        args=_ENSURE.arguments(),
        working_dir=PROJECT,
        env=[models.EnvVar(name=TERMINATION_LOG, value=TERMINATION_PATH)],
        resources=pods.requirements(resources.model_copy(update={"gpus": 0})),
        volume_mounts=[mount.model() for mount in mounts],
        security_context=pods.container_rights(),
        termination_message_policy="FallbackToLogsOnError",
    )
