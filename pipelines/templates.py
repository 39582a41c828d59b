"""The steps as ordinary Hera templates: one function for each, to be used in any DAG.

A template's inputs and outputs are named as the fields of its step's contract are (`argosy.steps.contracts`), in
kebab-case. It needs nothing else from the workflow that it stands in. `code` is where its pods get the project's code
from; None: their image holds it.
"""

import json
from collections.abc import Sequence

from hera.workflows import Container, Suspend, models

from argosy.pipelines import assembly, folders, gang, pods, preparations
from argosy.pipelines.assembly import DEFAULT_STORAGE, Surroundings
from argosy.pipelines.calls import Call, Tag, text
from argosy.pipelines.code import Git
from argosy.pipelines.dataset import Dataset, dataset_parameter, staging_resources
from argosy.pipelines.errors import Problem, SpecError
from argosy.pipelines.folders import CACHE, MODELS, OUTPUT
from argosy.pipelines.gates import Gate, NotWorseThanChampion
from argosy.pipelines.placement import Placement, Storage
from argosy.pipelines.spec import Registry
from argosy.pipelines.training import Training
from argosy.pipelines.training_pod import training_pod
from argosy.steps.contracts import REPORT, Step, option
from argosy.steps.gates import Comparison

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
    registry: Registry | None = None,
    reports: bool = False,
) -> Container:
    """Judges an exported model; a verdict that ends the run ends the pod with an exit code of its own.

    `registry` is where a gate that compares finds the champion. Inputs: `dataset-hash`, `dataset-pin`, `revision`,
    `model`, `model-hash`, and the gate's settings with the noun's values as defaults; with a node's folder as cache,
    `node`. Outputs: those of `GateOutput`, `record`, and with `reports` the artifact `report`, a page for the Argo UI,
    which needs an artifact repository in the cluster. Raises SpecError for a comparison without a registry.
    """
    compared = _compared(gate, registry) if isinstance(gate, NotWorseThanChampion) else None
    call = Call(
        gate.step,
        fixed={
            "output": OUTPUT,
            "task": task,
            "cache": CACHE,
            "models": MODELS,
            "gpus": gate.resources.gpus,
            "gate": gate.name,
            **(_place(compared) if compared else {}),
        },
        defaults={option(field): text(value) for field, value in gate.settings().items()},
    )
    mounts = [assembly.model_store(storage).as_read_only()]
    if compared and compared.may_be_on_volume:
        mounts.append(assembly.registry_volume(storage).as_read_only())
    surroundings = Surroundings(mounts=mounts, environments=[storage.registry_environment] if compared else [])
    artifacts = [_report()] if reports else []
    return assembly.pod_with_data(
        call, gate.name, image, gate.resources, surroundings, storage=storage, code=code, artifacts=artifacts
    )


def pause(name: str, shown: Sequence[str] = ()) -> Suspend:
    """Waits until a person lets the run go on, in the Argo UI or by `argosy resume`; stopping the run is the no.

    Inputs: what the person is shown, by these names.
    """
    return Suspend(name=name, inputs=models.Inputs(parameters=[models.Parameter(name=one) for one in shown]))


def publish(
    registry: Registry,
    *,
    gates: Sequence[str],
    task: str,
    image: str,
    storage: Storage = DEFAULT_STORAGE,
    code: Git | None = None,
    comparisons: Sequence[NotWorseThanChampion] = (),
    manifest: str = "",
    name: str = Step.PUBLISH,
) -> Container:
    """Registers the model with its recipe and moves the alias.

    `comparisons` are done again where another model has become champion since; for them the pod has the data and the
    project's code. `manifest` is the one that runs, packed, for the recipe. Inputs: `dataset`, `dataset-hash`,
    `dataset-pin`, `revision`, `seed`, `machine`, `model`, `model-hash`, and the verdict of each gate by its name;
    with comparisons the margin of each by its parameter's name, and with a node's folder as cache, `node`. Outputs:
    those of `PublishOutput`, and `record`. The workflow must have parameters: they go into the recipe.
    """
    call = Call(
        Step.PUBLISH,
        fixed={
            "output": OUTPUT,
            **_place(registry),
            "models": MODELS,
            "run": Tag("{{workflow.name}}"),
            "run_uid": Tag("{{workflow.uid}}"),
            "task": task,
            "image": image,
            "parameters": Tag("{{workflow.parameters.json}}"),
            "manifest": manifest,
            "comparisons": {one.name: _comparison(one) for one in comparisons},
            **({"cache": CACHE} if comparisons else {}),
        },
        keys=gates,
    )
    mounts = [assembly.model_store(storage).as_read_only()]
    if registry.may_be_on_volume:
        mounts.append(assembly.registry_volume(storage))
    surroundings = Surroundings(mounts=mounts, environments=[storage.registry_environment])
    if not comparisons:
        return assembly.pod(call, name, image, registry.resources, surroundings)
    template = assembly.pod_with_data(call, name, image, registry.resources, surroundings, storage=storage, code=code)
    margins = [models.Parameter(name=one.parameter, default=text(one.margin)) for one in comparisons]
    assembly.inputs_of(template).extend(margins)
    return template


def _place(registry: Registry) -> dict[str, object]:
    """Where the registered model is, as steps are told."""
    return {
        "registry": registry.name,
        "alias": registry.alias,
        "tracking_uri": registry.tracking_uri or "",
        **({"folder": folders.REGISTRY} if registry.may_be_on_volume else {}),
    }


def _compared(gate: Gate, registry: Registry | None) -> Registry:
    if registry is None:
        what = "there is no registry whose champion the model could be compared with"
        raise SpecError([Problem(f"templates.gate({gate.name})", what, "give registry=Registry(...)")])
    return registry


def _comparison(gate: NotWorseThanChampion) -> Tag:
    """The settings as JSON, none of which needs to be kept from Argo; the margin is the template's input."""
    settings = {name: value for name, value in gate.settings().items() if name in Comparison.model_fields}
    return Tag(json.dumps(settings | {"margin": f"{{{{inputs.parameters.{gate.parameter}}}}}"}))


def _report() -> models.Artifact:
    # The Argo UI shows what is not packed. A gate that ends without a verdict has no report.
    unpacked = models.ArchiveStrategy(none=models.NoneStrategy())
    return models.Artifact(name="report", path=f"{OUTPUT}/{REPORT}", archive=unpacked, optional=True)
