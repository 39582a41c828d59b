"""A team's own DAG: argosy's steps among templates of its own, and without a Pipeline."""

from hera.workflows import DAG, Container, Parameter, Steps, Task, Workflow

from argosy.pipelines import Accuracy, Dataset, Registry, Training, templates
from argosy.steps.digits_hyperparameters import DigitsHyperparameters

IMAGE = "registry.example.org/digits:1"
TASK = "argosy.steps.digits:Digits"

with Workflow(
    generate_name="team-", entrypoint="all", arguments={"revision": "1234e5", "note": "first line\nsecond line\n"}
) as workflow:
    tell = Container(
        name="tell",
        image="busybox",
        command=["echo"],
        args=["{{inputs.parameters.text}}"],
        inputs=[Parameter(name="text")],
    )
    stage = templates.stage(Dataset("data/digits"), image=IMAGE)
    train = templates.train(Training(task=TASK, hyperparameters=DigitsHyperparameters(epochs=2)), image=IMAGE)
    judge = templates.gate(Accuracy(at_least=0.9), task=TASK, image=IMAGE)
    publish = templates.publish(Registry("digits"), gates=["accuracy-gate"], task=TASK, image=IMAGE)
    with Steps(name="announce", inputs=[Parameter(name="text")]) as announce:
        announce_text = tell(name="say", arguments={"text": "{{inputs.parameters.text}}"})
    with DAG(name="all"):
        revision = {"revision": "{{workflow.parameters.revision}}"}
        data = {"dataset": "data/digits"} | revision
        staged = Task(name="stage", template=stage, arguments=data)
        dataset_hash = {"dataset-hash": staged.get_parameter("dataset-hash").value}
        present = dataset_hash | {name: staged.get_parameter(name).value for name in ("dataset-pin", "node")}
        trained = Task(name="train", template=train, arguments=present)
        model = revision | {name: trained.get_parameter(name).value for name in ("model", "model-hash")}
        judged = Task(name="judge", template=judge, arguments=present | model)
        verdict = {"accuracy-gate": judged.get_parameter("verdict").value}
        published = Task(name="publish", template=publish, arguments=data | dataset_hash | model | verdict)
        told = Task(name="tell", template=announce, arguments={"text": published.get_parameter("model-uri").value})
        staged >> trained >> judged >> published >> told
