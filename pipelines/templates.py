"""The steps as ordinary Hera templates: one function for each, to be used in any DAG.

A template's inputs and outputs are named as the fields of its step's contract are (`argosy.steps.contracts`), in
kebab-case. It needs nothing else from the workflow that it stands in. `code` is where its pods get the project's code
from; None: their image holds it.
"""

from collections.abc import Sequence

from hera.workflows import Container, models

from argosy.pipelines import executor, folders, pods, preparations, quantities
from argosy.pipelines.calls import COMMAND, Call, Tag, text
from argosy.pipelines.code import Git
from argosy.pipelines.dataset import Dataset, dataset_parameter, staging_resources
from argosy.pipelines.folders import CACHE, MODELS, OUTPUT
from argosy.pipelines.gates import Gate
from argosy.pipelines.placement import NodeFolder, Resources, Storage
from argosy.pipelines.pods import Mount
from argosy.pipelines.preparations import Preparation
from argosy.pipelines.spec import Registry, Training
from argosy.steps.contracts import CONTRACTS, REPORT, TERMINATION_LOG, Step, option

DEFAULT_STORAGE = Storage()


def stage(
    dataset: Dataset | Sequence[Dataset],
    *,
    image: str,
    storage: Storage = DEFAULT_STORAGE,
    code: Git | None = None,
    name: str = Step.STAGE,
) -> Container:
    """Lays the data out in the node's cache: no more pods at a time than `storage.staging` allows.

    Inputs: `dataset`, `revision` and `dataset-pin`, all with defaults; with `code`, `revision` without one. Outputs:
    those of `StageOutput`, and `record`.
    """
    datasets = [dataset] if isinstance(dataset, Dataset) else dataset
    call = Call(
        Step.STAGE,
        fixed={"output": OUTPUT, **preparations.staging(storage)},
        defaults={"dataset": dataset_parameter(datasets)},
    )
    mounts = [preparations.cache(storage), *(mount.as_read_only() for mount in preparations.project(code))]
    template = _template(
        call,
        name,
        image,
        staging_resources(datasets),
        mounts,
        before=_fetched(code),
        environment=storage.data_environment,
        variables=[pods.NODE_NAME],
    )
    template.synchronization = pods.semaphore(storage.staging) if storage.staging else None
    return template


def train(
    training: Training,
    *,
    image: str,
    storage: Storage = DEFAULT_STORAGE,
    code: Git | None = None,
    name: str = Step.TRAIN,
) -> Container:
    """Trains the task and exports its model.

    Inputs: `dataset-hash`, `dataset-pin`, `seed`, and each hyperparameter by its name, with the noun's value as
    default; with a node's folder as cache, `node`; with `code`, `revision`. Outputs: those of `TrainOutput`, and
    `record`.
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
    mounts = [_models(storage), shared_memory]
    template = _with_data(call, name, image, training.resources, mounts, storage=storage, code=code)
    template.pod_spec_patch = executor.patch(int(quantities.seconds(training.grace)))
    return template


def gate(
    gate: Gate,
    *,
    task: str,
    image: str,
    storage: Storage = DEFAULT_STORAGE,
    code: Git | None = None,
    reports: bool = False,
) -> Container:
    """Judges an exported model; a verdict other than pass ends the pod with an exit code of its own.

    Inputs: `dataset-hash`, `dataset-pin`, `revision`, `model`, `model-hash`, and the gate's settings with the noun's
    values as defaults; with a node's folder as cache, `node`. Outputs: those of `GateOutput`, `record`, and with
    `reports` the artifact `report`, a page for the Argo UI, which needs an artifact repository in the cluster.
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
    mounts = [_models(storage).as_read_only()]
    artifacts = [_report()] if reports else []
    return _with_data(call, gate.name, image, gate.resources, mounts, storage=storage, code=code, artifacts=artifacts)


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
            "tracking_uri": registry.tracking_uri or "",
            **({"folder": folders.REGISTRY} if registry.may_be_on_volume else {}),
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
    if registry.may_be_on_volume:
        mounts.append(pods.claim("registry", folders.REGISTRY, storage.registry_claim))
    return _template(call, name, image, registry.resources, mounts, environment=storage.registry_environment)


def _models(storage: Storage) -> Mount:
    return pods.claim("models", MODELS, storage.models_claim)


def _fetched(code: Git | None) -> list[Preparation]:
    return [preparations.code_fetched(code)] if code else []


def _report() -> models.Artifact:
    # The Argo UI shows what is not packed. A gate that ends without a verdict has no report.
    unpacked = models.ArchiveStrategy(none=models.NoneStrategy())
    return models.Artifact(name="report", path=f"{OUTPUT}/{REPORT}", archive=unpacked, optional=True)


def _with_data(
    call: Call,
    name: str,
    image: str,
    resources: Resources,
    mounts: Sequence[Mount],
    *,
    storage: Storage,
    code: Git | None,
    artifacts: Sequence[models.Artifact] = (),
) -> Container:
    """A template of a step that runs the user's code on staged data, rather on the node that has it than on another."""
    read = [mount.as_read_only() for mount in (preparations.cache(storage), *preparations.project(code))]
    before = [*_fetched(code), preparations.data_ensured(storage, code)]
    template = _template(call, name, image, resources, [*read, *mounts], before=before, artifacts=artifacts)
    template.working_dir = folders.PROJECT
    if isinstance(storage.cache, NodeFolder):
        assert isinstance(template.inputs, models.Inputs)
        assert template.inputs.parameters is not None
        template.inputs.parameters.append(models.Parameter(name="node"))
        template.affinity = pods.beside("{{inputs.parameters.node}}")
    return template


def _template(
    call: Call,
    name: str,
    image: str,
    resources: Resources,
    mounts: Sequence[Mount],
    *,
    before: Sequence[Preparation] = (),
    environment: str | None = None,
    variables: Sequence[models.EnvVar] = (),
    artifacts: Sequence[models.Artifact] = (),
) -> Container:
    """A template of one step, after its preparations; `environment` names a ConfigMap and a Secret."""
    scratch = [pods.scratch("output", OUTPUT), pods.scratch("tmp", "/tmp")]  # noqa: S108 - a mount point
    needed = [*mounts, *(mount for one in before for mount in one.mounts), *scratch]
    volumes = {mount.volume.name: mount.volume for mount in needed}
    inputs = {one.name: one for source in (call, *(one.call for one in before)) for one in source.inputs()}
    return Container(
        name=name,
        image=image,
        command=list(COMMAND),
        args=call.arguments(),
        env=[models.EnvVar(name=TERMINATION_LOG, value=folders.TERMINATION), *variables],
        env_from=[*pods.environment(environment)] or None,
        inputs=models.Inputs(parameters=list(inputs.values())),
        outputs=models.Outputs(parameters=call.outputs(), artifacts=list(artifacts) or None),
        resources=pods.requirements(resources),
        volumes=list(volumes.values()),
        volume_mounts=[mount.model() for mount in (*mounts, *scratch)],
        init_containers=[one.container(image, resources, scratch) for one in before] or None,
        retry_strategy=pods.retries([one.name for one in before]),
        security_context=pods.container_rights(),
        pod_security_context=pods.pod_rights(),
        pod_spec_patch=executor.patch(),
        termination_message_policy="FallbackToLogsOnError",
    )
