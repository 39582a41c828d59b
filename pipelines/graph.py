"""A pipeline as a Hera workflow: `stage -> train -> gates -> publish`."""

from collections.abc import Mapping
from typing import Any

from hera.workflows import DAG, Container, Task, Workflow, WorkflowTemplate, models

from argosy.pipelines import names, pods, templates
from argosy.pipelines.calls import text
from argosy.pipelines.dataset import dataset_parameter
from argosy.pipelines.placement import Placement
from argosy.pipelines.spec import Pipeline
from argosy.steps.contracts import Step, option

ENTRYPOINT = "pipeline"
TITLE = "workflows.argoproj.io/title"
DESCRIPTION = "workflows.argoproj.io/description"
SERVICE_ACCOUNT = "argosy-steps"
"""What Argo's executor in the pods acts as: `argosy install` prints it, with the rights that it needs."""


def workflow(pipeline: Pipeline) -> Workflow:
    """An ordinary Hera Workflow; whoever submits it may give it a name in place of the generated one."""
    return Workflow(generate_name=f"{pipeline.name}-", **_definition(pipeline))


def workflow_template(pipeline: Pipeline) -> WorkflowTemplate:
    """The same, to be kept in a cluster and run by name."""
    return WorkflowTemplate(name=pipeline.name, **_definition(pipeline))


def _definition(pipeline: Pipeline) -> dict[str, Any]:
    labels = {key: names.label_value(value) for key, value in pipeline.labels.items()}
    altered = {key: value for key, value in pipeline.labels.items() if value != labels[key]}
    description = {DESCRIPTION: pipeline.description} if pipeline.description else {}
    tasks, steps = _tasks(pipeline)
    return {
        "labels": {names.PIPELINE_LABEL: pipeline.name, **labels},
        "annotations": {TITLE: pipeline.name, **description, **altered},
        "arguments": models.Arguments(parameters=_parameters(pipeline)),
        "entrypoint": ENTRYPOINT,
        "service_account_name": SERVICE_ACCOUNT,
        "templates": [DAG(name=ENTRYPOINT, tasks=tasks), *steps],
        **_placed(pipeline.placement),
    }


def _placed(placement: Placement) -> dict[str, Any]:
    return {
        "node_selector": dict(placement.node_selector) or None,
        "tolerations": pods.tolerations(placement) or None,
    }


def _parameters(pipeline: Pipeline) -> list[models.Parameter]:
    """What may be changed from run to run."""
    return [
        models.Parameter(
            name="dataset",
            value=dataset_parameter(pipeline.datasets),
            description="path that dvc.lock or a .dvc file names, or a JSON list of datasets",
        ),
        _parameter(
            "dataset-pin",
            "",
            "what DVC records for it at the revision, as `argosy submit` finds it; empty: the first pod finds it",
        ),
        _parameter("revision", "", "git commit of the pipeline and its data; empty: the project's files as they are"),
        _parameter("seed", pipeline.seed, "seed of weights, order and augmentation"),
        *[
            models.Parameter(
                name=one.name, value=one.value, description=one.description, enum=list(one.enum or ()) or None
            )
            for one in pipeline.training.tuned
        ],
        *[
            _parameter(
                gate.parameter, getattr(gate, gate.threshold), type(gate).model_fields[gate.threshold].description
            )
            for gate in pipeline.gates
        ],
    ]


def _parameter(name: str, value: object, description: str | None) -> models.Parameter:
    return models.Parameter(name=name, value=text(value), description=description)


def _tasks(pipeline: Pipeline) -> tuple[list[Task | models.DAGTask], list[Container]]:
    """The tasks in the order they run, and the template of each."""
    image, storage, code, task = pipeline.image, pipeline.storage, pipeline.code, pipeline.training.task
    stage = templates.stage(pipeline.datasets, image=image, storage=storage, code=code)
    train = templates.train(
        pipeline.training,
        image=image,
        storage=storage,
        code=code,
        registry=pipeline.registry,
        placement=pipeline.placement,
    )
    gates = [
        templates.gate(gate, task=task, image=image, storage=storage, code=code, reports=pipeline.reports)
        for gate in pipeline.gates
    ]
    titles = [gate.name for gate in pipeline.gates]
    publish = templates.publish(pipeline.registry, gates=titles, task=task, image=image, storage=storage)

    data = {name: _parameter_tag(name) for name in ("dataset", "revision", "dataset-pin")}
    staged = data | {name: _output(Step.STAGE, name) for name in ("dataset-hash", "dataset-pin", "node")}
    trained = staged | {name: _output(Step.TRAIN, name) for name in ("model", "model-hash")}
    tuned = {name: _parameter_tag(name) for name in ("seed", *(one.name for one in pipeline.training.tuned))}
    tasks: list[Task | models.DAGTask] = [
        _task(stage, data),
        _task(train, staged | tuned, Step.STAGE),
        *[
            _task(pod, trained | {option(gate.threshold): _parameter_tag(gate.parameter)}, Step.TRAIN)
            for gate, pod in zip(pipeline.gates, gates, strict=True)
        ],
        _task(publish, trained | {title: _output(title, "verdict") for title in titles}, *titles),
    ]
    return tasks, [stage, train, *gates, publish]


def _parameter_tag(name: str) -> str:
    return f"{{{{workflow.parameters.{name}}}}}"


def _output(task: str, name: str) -> str:
    return f"{{{{tasks.{task}.outputs.parameters.{name}}}}}"


def _task(template: Container, known: Mapping[str, str], *needed: str) -> Task:
    """A task that runs its template once each of the needed tasks has succeeded.

    An input that is not known from elsewhere gets its default here, and the template keeps none: a value stands once in
    a manifest, so that editing it there has an effect.
    """
    inputs = template.inputs
    assert isinstance(inputs, models.Inputs)
    assert template.name
    arguments = {}
    for one in inputs.parameters or []:
        arguments[one.name] = known.get(one.name, one.default)
        one.default = None
    depends = " && ".join(f"{name}.Succeeded" for name in needed)
    return Task(name=template.name, template=template.name, arguments=arguments, depends=depends or None)
