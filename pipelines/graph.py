"""A pipeline as a Hera workflow: `stage -> train -> gates -> publish`, with a person asked where it says so."""

from collections.abc import Mapping
from typing import Any

from hera.workflows import DAG, Container, Suspend, Task, Workflow, WorkflowTemplate, models

from argosy.pipelines import assembly, names, pods, templates
from argosy.pipelines.calls import text
from argosy.pipelines.compile import rendered
from argosy.pipelines.dataset import dataset_parameter
from argosy.pipelines.gates import Gate, NotWorseThanChampion
from argosy.pipelines.placement import Placement
from argosy.pipelines.spec import Pipeline
from argosy.steps import stored
from argosy.steps.contracts import Step, option
from argosy.steps.gates import Answer

ENTRYPOINT = "pipeline"
APPROVAL = "approval"
TITLE = "workflows.argoproj.io/title"
DESCRIPTION = "workflows.argoproj.io/description"
SERVICE_ACCOUNT = "argosy-steps"
"""What Argo's executor in the pods acts as: `argosy install` prints it, with the rights that it needs."""


Called = tuple[Container | Suspend, Task]
"""A template and the task that runs it."""


def workflow(pipeline: Pipeline) -> Workflow:
    """An ordinary Hera Workflow; whoever submits it may give it a name in place of the generated one."""
    return _workflow(pipeline, _packed(pipeline))


def workflow_template(pipeline: Pipeline) -> WorkflowTemplate:
    """The same, to be kept in a cluster and run by name."""
    return WorkflowTemplate(name=pipeline.name, **_definition(pipeline, _packed(pipeline)))


def _packed(pipeline: Pipeline) -> str:
    """The workflow's manifest for the recipe of its models; it cannot hold itself, and holds nothing in its place."""
    return stored.packed(rendered(_workflow(pipeline, "").to_dict()))


def _workflow(pipeline: Pipeline, manifest: str) -> Workflow:
    return Workflow(generate_name=f"{pipeline.name}-", **_definition(pipeline, manifest))


def _definition(pipeline: Pipeline, manifest: str) -> dict[str, Any]:
    labels = {key: names.label_value(value) for key, value in pipeline.labels.items()}
    altered = {key: value for key, value in pipeline.labels.items() if value != labels[key]}
    description = {DESCRIPTION: pipeline.description} if pipeline.description else {}
    tasks, steps = _tasks(pipeline, manifest)
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
            _parameter(gate.parameter, getattr(gate, gate.limit), type(gate).model_fields[gate.limit].description)
            for gate in pipeline.gates
        ],
    ]


def _parameter(name: str, value: object, description: str | None) -> models.Parameter:
    return models.Parameter(name=name, value=text(value), description=description)


def _tasks(pipeline: Pipeline, manifest: str) -> tuple[list[Task | models.DAGTask], list[Container | Suspend]]:
    """The tasks in the order they run, and the template of each."""
    stage = templates.stage(pipeline.datasets, image=pipeline.image, storage=pipeline.storage, code=pipeline.code)
    train = templates.train(
        pipeline.training,
        image=pipeline.image,
        storage=pipeline.storage,
        code=pipeline.code,
        registry=pipeline.registry,
        placement=pipeline.placement,
    )
    data = {name: _parameter_tag(name) for name in ("dataset", "revision", "dataset-pin")}
    staged = data | {name: _output(Step.STAGE, name) for name in ("dataset-hash", "dataset-pin", "node")}
    tuned = {name: _parameter_tag(name) for name in ("seed", *(one.name for one in pipeline.training.tuned))}
    trained = staged | {name: _output(Step.TRAIN, name) for name in ("model", "model-hash")}
    called = [
        (stage, _task(stage, data)),
        (train, _task(train, staged | tuned, _succeeded(Step.STAGE))),
        *_judgements(pipeline, trained),
        *_publication(pipeline, trained, manifest),
    ]
    return [task for _, task in called], [template for template, _ in called]


def _judgements(pipeline: Pipeline, trained: dict[str, str]) -> list[Called]:
    """The gates, and after each that a person may have to decide for, the pause in which that happens."""
    judges, pauses = [], []
    for gate in pipeline.gates:
        judge = templates.gate(
            gate,
            task=pipeline.training.task,
            image=pipeline.image,
            storage=pipeline.storage,
            code=pipeline.code,
            registry=pipeline.registry,
            reports=pipeline.reports,
        )
        threshold = {option(gate.threshold): _parameter_tag(gate.parameter)}
        judges.append((judge, _task(judge, trained | threshold, _succeeded(Step.TRAIN))))
        if gate.may_hold:
            pause = templates.pause(_hold(gate), ["summary"])
            known = {"summary": _output(gate.name, "summary")}
            when = f'"{_output(gate.name, "answer")}" == "{Answer.INCONCLUSIVE}"'
            pauses.append((pause, _task(pause, known, _succeeded(gate.name), when)))
    return [*judges, *pauses]


def _publication(pipeline: Pipeline, trained: dict[str, str], manifest: str) -> list[Called]:
    """What follows once every gate lets the model pass."""
    titles = [gate.name for gate in pipeline.gates]
    comparisons = [gate for gate in pipeline.gates if isinstance(gate, NotWorseThanChampion)]
    publish = templates.publish(
        pipeline.registry,
        gates=titles,
        task=pipeline.training.task,
        image=pipeline.image,
        storage=pipeline.storage,
        code=pipeline.code,
        comparisons=comparisons,
        manifest=manifest,
    )
    known = trained | {"seed": _parameter_tag("seed"), "machine": _output(Step.TRAIN, "machine")}
    known |= {title: _output(title, "verdict") for title in titles}
    known |= {gate.parameter: _parameter_tag(gate.parameter) for gate in comparisons}
    passed = " && ".join(map(_passed, pipeline.gates))
    if not pipeline.registry.approval:
        return [(publish, _task(publish, known, passed))]
    approval = templates.pause(APPROVAL, titles)
    asked = _task(approval, {title: _output(title, "summary") for title in titles}, passed)
    return [(approval, asked), (publish, _task(publish, known, _succeeded(APPROVAL)))]


def _passed(gate: Gate) -> str:
    """What must be true of a gate's tasks before the model goes on."""
    if not gate.may_hold:
        return _succeeded(gate.name)
    return f"{_succeeded(gate.name)} && ({_hold(gate)}.Succeeded || {_hold(gate)}.Skipped)"


def _hold(gate: Gate) -> str:
    return f"{gate.name}-hold"


def _succeeded(task: str) -> str:
    return f"{task}.Succeeded"


def _parameter_tag(name: str) -> str:
    return f"{{{{workflow.parameters.{name}}}}}"


def _output(task: str, name: str) -> str:
    return f"{{{{tasks.{task}.outputs.parameters.{name}}}}}"


def _task(template: Container | Suspend, known: Mapping[str, str], depends: str = "", when: str = "") -> Task:
    """A task that runs its template.

    An input that is not known from elsewhere gets its default here, and the template keeps none: a value stands once in
    a manifest, so that editing it there has an effect.
    """
    assert template.name
    arguments = {}
    for one in assembly.inputs_of(template):
        arguments[one.name] = known.get(one.name, one.default)
        one.default = None
    return Task(
        name=template.name,
        template=template.name,
        arguments=arguments,
        depends=depends or None,
        when=when or None,
    )
