"""The steps as ordinary Hera templates: one function for each, to be used in any DAG.

A template's inputs and outputs are named as the fields of its step's contract are (`argosy.steps.contracts`), in
kebab-case. It needs nothing else from the workflow that it stands in. `code` is where its pods get the project's code
from; None: their image holds it.
"""

from collections.abc import Sequence

from hera.workflows import Container, models

from argosy.pipelines import assembly, folders, gang, pods, preparations
from argosy.pipelines.assembly import DEFAULT_STORAGE, Surroundings
from argosy.pipelines.calls import Call, Tag, text
from argosy.pipelines.code import Git
from argosy.pipelines.dataset import Dataset, dataset_parameter, staging_resources
from argosy.pipelines.folders import CACHE, MODELS, OUTPUT
from argosy.pipelines.gates import Gate
from argosy.pipelines.placement import Placement, Storage
from argosy.pipelines.spec import Registry
from argosy.pipelines.training import Training
from argosy.pipelines.training_pod import training_pod
from argosy.steps.contracts import CONTRACTS, REPORT, Step, option

ANYWHERE = Placement()


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
    surroundings = Surroundings(
        mounts=[preparations.cache(storage), *(mount.as_read_only() for mount in preparations.project(code))],
        environments=[storage.data_environment],
        knows_its_node=True,
    )
    before = assembly.fetched(code)
    template = assembly.pod(call, name, image, staging_resources(datasets), surroundings, before=before)
    template.synchronization = pods.semaphore(storage.staging) if storage.staging else None
    return template


def train(
    training: Training,
    *,
    image: str,
    storage: Storage = DEFAULT_STORAGE,
    code: Git | None = None,
    registry: Registry | None = None,
    placement: Placement = ANYWHERE,
    name: str = Step.TRAIN,
) -> Container:
    """Trains the task and exports its model: in this pod, or, on several nodes or from a queue, in pods of a Job that
    this pod makes and follows.

    `registry` is where metrics go. `placement` says where the Job's pods run, which a workflow's own does not reach.
    Inputs: `dataset-hash`, `dataset-pin`, `seed`, and each hyperparameter by its name, with the noun's value as
    default; with a node's folder as cache, `node`; with `code`, `revision`. Outputs: those of `TrainOutput`, and
    `record`.
    """
    metrics = registry if training.metrics else None
    if not training.is_gang:
        return training_pod(training, name, image, storage=storage, code=code, registry=metrics)
    return gang.launcher(training, name, image, storage=storage, code=code, registry=metrics, placement=placement)


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
    surroundings = Surroundings(mounts=[assembly.model_store(storage).as_read_only()])
    artifacts = [_report()] if reports else []
    return assembly.pod_with_data(
        call, gate.name, image, gate.resources, surroundings, storage=storage, code=code, artifacts=artifacts
    )


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
    mounts = [assembly.model_store(storage).as_read_only()]
    if registry.may_be_on_volume:
        mounts.append(assembly.registry_volume(storage))
    surroundings = Surroundings(mounts=mounts, environments=[storage.registry_environment])
    return assembly.pod(call, name, image, registry.resources, surroundings)


def _report() -> models.Artifact:
    # The Argo UI shows what is not packed. A gate that ends without a verdict has no report.
    unpacked = models.ArchiveStrategy(none=models.NoneStrategy())
    return models.Artifact(name="report", path=f"{OUTPUT}/{REPORT}", archive=unpacked, optional=True)
