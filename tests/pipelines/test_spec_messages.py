"""A noun that is given a wrong value says which field, which value, and what to do."""

import pytest
from pydantic import BaseModel, Field, create_model

from argosy.pipelines import (
    Accelerator,
    Accuracy,
    Checkpoints,
    Claim,
    CustomGate,
    Dataset,
    Git,
    Latency,
    Loop,
    ModelSize,
    NodeFolder,
    Nodes,
    NotWorseThanChampion,
    Parity,
    Pipeline,
    Queue,
    Registry,
    Resources,
    Scratch,
    Slices,
    Storage,
    Topology,
    Training,
    Volcano,
    templates,
)
from argosy.pipelines.errors import SpecError

RESOURCES = Resources(cpu=1, memory="1Gi")


def pipeline(**changes):
    fields = {
        "name": "digits",
        "dataset": Dataset("data/digits"),
        "training": Training(task="tasks:Digits"),
        "gates": [Accuracy(at_least=0.9)],
        "registry": Registry("digits"),
        "image": "digits:1",
    }
    return Pipeline(**fields | changes)


class Tuned(BaseModel):
    seed: int = 1


class Placed(BaseModel):
    node: int = 1


class Clashing(BaseModel):
    accuracy_at_least: float = 0.5


class Told(BaseModel):
    size: int = Field(default=1, description="see {{docs}}")


class Odd(BaseModel):
    sizes: list[int] = [1]


Strange = create_model("Strange", grösse=(int, 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Accuracy(at_least=1.5), "Accuracy.at_least: 1.5 is not below 1; give the share of samples"),
        (lambda: Accuracy(at_least=0), "Accuracy.at_least: 0 is not above 0; give"),
        (lambda: Accuracy(at_least=float("nan")), "Accuracy.at_least: nan is not finite; give"),
        (lambda: Accuracy(at_least="0.9"), "Accuracy.at_least: '0.9' is no number; give"),
        (lambda: Accuracy(at_least=True), "Accuracy.at_least: True is no number; give"),
        (Accuracy, "Accuracy.at_least: is missing; give"),
        (lambda: Accuracy(at_leest=0.9), "Accuracy.at_leest: Accuracy has no such field; did you mean at_least?"),
        (
            lambda: Accuracy(at_least=0.9, split="tset"),
            "Accuracy.split: 'tset' is none of 'train', 'validation' or 'test'",
        ),
        (
            lambda: Accuracy(at_least=-1, metric="f1", name="f1"),
            "Accuracy.name: 'f1' does not look right; give",
        ),
        (
            lambda: Accuracy(at_least=0.9, metric="top 5"),
            "Accuracy.metric: 'top 5' does not look right; give the method of the task that scores",
        ),
        (
            lambda: Accuracy(at_least=0.9, cluster="{{x}}"),
            "Accuracy.cluster: '{{x}}' does not look right; give the label",
        ),
        (
            lambda: Accuracy(at_least=0.9, inconclusive="wait"),
            "Accuracy.inconclusive: 'wait' is none of 'fail', 'hold' or 'pass'; give the policy",
        ),
        (
            lambda: Accuracy(at_least=0.9, looks=3),
            "Accuracy: the first of 3 looks takes all samples and leaves none; set samples to those of the first",
        ),
        (lambda: Accuracy(at_least=0.9, samples=100, looks=11), "Accuracy.looks: 11 is above 10; give the most looks"),
        (lambda: Slices(by="hospital", at_least=95), "Slices.at_least: 95 is not below 1; give the share of samples"),
        (lambda: Slices(at_least=0.9), "Slices.by: is missing; give the label that tells the slices apart"),
        (
            lambda: NotWorseThanChampion(margin=-0.01),
            "NotWorseThanChampion.margin: -0.01 is below 0; give the difference",
        ),
        (
            lambda: CustomGate(function="gates:calibration"),
            "CustomGate: one threshold is needed, and no two; give either at_least or at_most",
        ),
        (
            lambda: CustomGate(function="gates:calibration", at_least=1, at_most=2),
            "CustomGate: one threshold is needed, and no two; give either at_least or at_most",
        ),
        (lambda: CustomGate(function="gates.py", at_most=2), "CustomGate.function: 'gates.py' does not look right; gi"),
        (lambda: ModelSize(at_most_mib=0), "ModelSize.at_most_mib: 0 is not above 0; give the MiB that the model's"),
        (lambda: Parity(at_most=-1), "Parity.at_most: -1 is below 0; give the largest difference"),
        (
            lambda: Latency(quantile=0.99, at_most_ms=5, requests=300, looks=3),
            "Latency: 300 requests cannot bound the 0.99 quantile with confidence 0.95, shared by 3 looks; set",
        ),
        (
            lambda: templates.gate(NotWorseThanChampion(margin=0), task="a:B", image="i"),
            "templates.gate(champion-gate): there is no registry whose champion the model could be compared with; give",
        ),
        (lambda: Accuracy(at_least=0.9, name="My Gate"), "Accuracy.name: 'My Gate' does not look right; give"),
        (lambda: Latency(quantile=0.99, at_most_ms=-1), "Latency.at_most_ms: -1 is not above 0; give the milliseconds"),
        (
            lambda: Latency(quantile=0.99, at_most_ms=5, requests=298),
            "Latency: 298 requests cannot bound the 0.99 quantile",
        ),
        (lambda: Resources(cpu="two", memory="1Gi"), "Resources.cpu: 'two' is no number of CPUs; give"),
        (lambda: Resources(cpu=0, memory="1Gi"), "Resources.cpu: 0 is no number of CPUs; give"),
        (
            lambda: Resources(cpu=1, memory="4GB"),
            "Resources.memory: '4GB' is no amount of memory; give one such as '512Mi'",
        ),
        (lambda: Resources(cpu=1, memory="400m"), "Resources.memory: '400m' is no amount of memory; give"),
        (lambda: Checkpoints(every="60"), "Checkpoints.every: '60' is no duration; give one such as '90s'"),
        (lambda: Checkpoints(every="0s"), "Checkpoints.every: '0s' is no time at all; give"),
        (lambda: Checkpoints(keep=1), "Checkpoints.keep: 1 is below 2; give"),
        (lambda: Training(task="digits"), "Training.task: 'digits' does not look right; give the task's import string"),
        (
            lambda: Training(task="a:B", nodes=0),
            "Training.nodes: 0 is no number of nodes; give one such as 2, or Nodes(",
        ),
        (lambda: Training(task="a:B", nodes="2"), "Training.nodes: '2' is no number of nodes; give one such as 2"),
        (
            lambda: Training(task="a:B", nodes=Nodes(at_least=2, at_most=4)),
            "Training: no queue admits a part of 4 nodes; name one of Kueue's: queue=Queue('train')",
        ),
        (
            lambda: Training(task="a:B", nodes=Nodes(at_least=2, at_most=4), queue=Volcano()),
            "Training: no queue admits a part of 4 nodes; name one of Kueue's: queue=Queue('train')",
        ),
        (
            lambda: Nodes(at_least=4, at_most=4),
            "Nodes: 4 nodes at least and 4 at most are no range; set nodes=4",
        ),
        (
            lambda: Training(task="a:B", queue="train"),
            "Training.queue: 'train' is no queue; write Queue('train'), or Vol",
        ),
        (lambda: Queue("Train"), "Queue.name: 'Train' does not look right; give the name of a LocalQueue"),
        (lambda: Topology("a rack"), "Topology.level: 'a rack' does not look right; give the label of nodes whose"),
        (
            lambda: Training(task="a:B", script="/vision/train.py"),
            "Training.script: '/vision/train.py' does not look right; give the path of a training script",
        ),
        (
            lambda: Training(task="a:B", script="../train.py"),
            "Training.script: '../train.py' leads out of the project; give a path inside it",
        ),
        (
            lambda: Training(task="a:B", script="train.py", loop=Loop(compile=True)),
            "Training: loop is of argosy's own loop, and train.py trains; leave out one of them",
        ),
        (
            lambda: Loop(precision="fp16"),
            "Loop.precision: 'fp16' is none of 'float32', 'bfloat16' or 'float16'; give what the model computes in",
        ),
        (lambda: Loop(average=1), "Loop.average: 1 is not below 1; give the decay of the weights' moving average"),
        (lambda: Loop(epochs=3), "Loop.epochs: Loop has no such field; it has precision, accumulation"),
        (
            lambda: Checkpoints(store="/mnt/x"),
            "Checkpoints.store: '/mnt/x' does not look right; give the bucket and pre",
        ),
        (
            lambda: Checkpoints(hours_between_failures=0),
            "Checkpoints.hours_between_failures: 0 is not above 0; give the expected hours",
        ),
        (
            lambda: Training(task="a:B", environment={"WORLD_SIZE": "2"}),
            "Training.environment: WORLD_SIZE is set for each process by argosy and torchrun; leave it out",
        ),
        (
            lambda: Training(task="a:B", environment={"A-B": "2"}),
            "Training.environment: 'A-B' is no variable's name; use ASCII letters, digits and _",
        ),
        (
            lambda: Training(task="a:B", environment={"X": "{{y}}"}),
            "Training.environment: the value of X holds {{, which Argo would replace; reword it",
        ),
        (
            lambda: Training(task="a:B", environment={"HF_TOKEN": "hunter2"}),
            "Training.environment: HF_TOKEN would stand in the manifest; put it into the Secret of",
        ),
        (
            lambda: Training(task="a:B", resources=RESOURCES, more_memory="512Mi"),
            "Training: more_memory 512Mi is less than the 1Gi of the pod; change one",
        ),
        (
            lambda: Training(task="a:B", resources=RESOURCES, shared_memory="1Gi"),
            "Training: shared_memory 1Gi is not less than the 1Gi of the pod; change one",
        ),
        (
            lambda: Resources(cpu=1, memory="1Gi", accelerator=Accelerator("amd.com/gpu")),
            "Resources: an accelerator is described, and no gpus are asked for; set gpus, or leave out Accelerator(",
        ),
        (
            lambda: Resources(cpu=1, memory="1Gi", gpus=2, accelerator=Accelerator("nvidia.com/mig-1g.10gb")),
            "Resources: a process sees one nvidia.com/mig-1g.10gb alone; set gpus to 1, and more nodes",
        ),
        (
            lambda: Accelerator("amd.com/gpu", memory_at_least="40Gi"),
            "Accelerator: nodes with amd.com/gpu have no label that tells their memory; leave out memory_at_least, and",
        ),
        (lambda: Accelerator("gpu"), "Accelerator.resource: 'gpu' does not look right; give the resource that nodes"),
        (
            lambda: Training(
                task="a:B",
                resources=Resources(cpu=1, memory="1Gi", gpus=1, accelerator=Accelerator("habana.ai/gaudi")),
            ),
            "Training: argosy's own loop cannot train on habana.ai/gaudi; name a script of yours that can",
        ),
        (
            lambda: Training(task="a:B", ranks_per_node=4, resources=Resources(cpu=1, memory="1Gi", gpus=2)),
            "Training: 4 ranks_per_node do not fit on 2 GPUs; set ranks_per_node to 2, or resources.gpus to 4",
        ),
        (
            lambda: Training(task="a:B", hyperparameters=Odd()),
            "Training.hyperparameters: hyperparameter 'sizes' is of type",
        ),
        (
            lambda: Training(task="a:B", hyperparameters=Strange()),
            "Training.hyperparameters: hyperparameter 'grösse' cannot",
        ),
        (
            lambda: Registry("digits", alias="latest"),
            "Registry.alias: 'latest' is a word that MLflow keeps for itself;",
        ),
        (lambda: Registry("digits", tracking_uri="https://me:secret@host"), "the address holds credentials; give them"),
        (
            lambda: Registry("digits", tracking_uri="sqlite:///mlflow.db"),
            "Registry.tracking_uri: 'sqlite:///mlflow.db' is",
        ),
        (
            lambda: pipeline(name="Train_Model"),
            "Pipeline.name: 'Train_Model' is no name for a workflow; write 'train-model'",
        ),
        (lambda: pipeline(name="a" * 58), "has 58 characters; leave 57 at most"),
        (lambda: pipeline(gates=[]), "Pipeline.gates: [] is empty; give the gates that a model must pass"),
        (
            lambda: pipeline(gates=[Accuracy(at_least=0.5), Accuracy(at_least=0.9)]),
            "Pipeline.gates: several gates are named 'accuracy-gate'; give each a name of its own",
        ),
        (
            lambda: pipeline(training=Training(task="a:B", hyperparameters=Tuned())),
            "Training.hyperparameters: hyperparameter 'seed' is an input that training has anyway; give",
        ),
        (
            lambda: pipeline(training=Training(task="a:B", hyperparameters=Clashing())),
            "Pipeline: 'accuracy-at-least' is a hyperparameter and the threshold of 'accuracy-gate'; give one of them",
        ),
        (lambda: Training(task="a:B", hyperparameters=Told()), "the description of hyperparameter 'size' holds {{"),
        (lambda: Accuracy(at_least=0.9, name="model"), "Accuracy.name: 'model' does not look right; give the title"),
        (
            lambda: Storage(cache="/mnt/nvme"),
            "Storage.cache: '/mnt/nvme' is no place for a cache; write NodeFolder('/mnt/nvme'), Claim('argosy-cache')",
        ),
        (lambda: Storage(cache=None), "Storage.cache: None is no place for a cache; write NodeFolder("),
        (lambda: NodeFolder("cache"), "NodeFolder.path: 'cache' does not look right; give the folder on the node's"),
        (lambda: Claim("My Cache"), "Claim.name: 'My Cache' does not look right; give the name of a volume claim"),
        (lambda: Scratch(size="1Gi"), "Scratch.size: Scratch has no such field; remove it"),
        (lambda: Git("https://me:hunter2@host/x.git"), "Git.repository: the address holds credentials; put them into"),
        (
            lambda: Git("git@host:x.git"),
            "Git.repository: 'git@host:x.git' is no address that a pod can fetch from; give one that begins https://",
        ),
        (
            lambda: pipeline(training=Training(task="a:B", hyperparameters=Placed())),
            "Training.hyperparameters: hyperparameter 'node' is an input that training has anyway; give",
        ),
        (
            lambda: pipeline(dataset="data/digits"),
            "Pipeline.dataset: 'data/digits' is no dataset; write Dataset('data/digits')",
        ),
        (lambda: pipeline(dataset=[Dataset("a"), None]), "Pipeline.dataset: None is no dataset; write Dataset("),
        (lambda: pipeline(dataset=[]), "Pipeline.dataset: [] is empty; give a dataset, such as Dataset('data/digits')"),
        (
            lambda: pipeline(dataset=[Dataset("old/digits"), Dataset("new/digits")]),
            "Pipeline.dataset: several datasets are named 'digits'; give each a name of its own",
        ),
        (lambda: Dataset("a", only="*.tar"), "Dataset.only: '*.tar' is one text, no list; give the list of patterns"),
        (lambda: Dataset("a", only=["/x"]), "Dataset.only[0]: '/x' does not look right; give the list of patterns"),
        (lambda: Dataset("a", name="b/c"), "Dataset.name: 'b/c' does not look right; give the name of its folder"),
        (
            lambda: NodeFolder("/mnt/nvme", at_most="500GB"),
            "NodeFolder.at_most: '500GB' is no amount of space; give one such as '500Gi' or '2Ti'",
        ),
        (lambda: Claim("cache", at_most="0"), "Claim.at_most: '0' is no amount of space; give one such as '500Gi'"),
        (lambda: Claim("cache", at_most_files=0), "Claim.at_most_files: 0 is below 1; give the files that the cache"),
        (lambda: Storage(connections=257), "Storage.connections: 257 is above 256; give the requests that a pod has"),
        (
            lambda: Storage(at_most_mb_per_second=0),
            "Storage.at_most_mb_per_second: 0 is below 0.001; give the megabytes",
        ),
        (lambda: Storage(staging="My Map"), "Storage.staging: 'My Map' does not look right; give the ConfigMap whose"),
        (lambda: pipeline(image="digits:{{x}}"), "Pipeline.image: 'digits:{{x}}' does not look right; give"),
    ],
)
def test_wrong_value_is_told_with_field_value_and_remedy(make, message):
    with pytest.raises(SpecError) as caught:
        make()
    assert message in str(caught.value)
    assert all(problem.where and problem.what and problem.remedy for problem in caught.value.problems)


def test_all_problems_of_a_noun_are_told_at_once():
    with pytest.raises(SpecError) as caught:
        Resources(cpu="x", memory="y", gpus=-1)
    assert [problem.where for problem in caught.value.problems] == [
        "Resources.cpu",
        "Resources.memory",
        "Resources.gpus",
    ]


def test_a_password_is_not_repeated():
    with pytest.raises(SpecError) as caught:
        Registry("digits", tracking_uri="https://me:hunter2@mlflow.example.org")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(SpecError) as caught:
        Git("https://me:hunter2@git.example.org/x.git")
    assert "hunter2" not in str(caught.value)


def test_a_secret_among_variables_is_not_repeated():
    with pytest.raises(SpecError) as caught:
        Training(task="a:B", environment={"API_KEY": "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_nouns_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Accuracy(at_least=0.9).at_least = 0.1


def test_longest_name_leaves_room_for_what_a_run_adds():
    assert len(pipeline(name="a" * 57).workflow().generate_name) + 5 == 63


def test_thresholds_of_gates_of_one_kind_have_different_names():
    gates = [Accuracy(at_least=0.9), Accuracy(at_least=0.5, name="hard-cases-gate")]
    assert [gate.parameter for gate in pipeline(gates=gates).gates] == ["accuracy-at-least", "hard-cases-at-least"]


def test_a_metric_that_is_no_share_may_have_any_threshold():
    assert Accuracy(metric="likelihood", at_least=-3.5).at_least == -3.5


@pytest.mark.parametrize(("side", "parameter"), [("at_least", "custom-at-least"), ("at_most", "custom-at-most")])
def test_a_gate_of_ones_own_is_held_against_the_side_that_was_given(side, parameter):
    gate = CustomGate(function="gates:calibration", **{side: 0.5})
    assert gate.parameter == parameter
    assert gate.settings()["threshold"] == 0.5
    assert gate.settings()["direction"] == parameter.removeprefix("custom-")


@pytest.mark.parametrize("name", ["a/b", "a:b", "a'b", 'a"b', "a\nb"])
def test_a_name_that_the_registry_could_not_be_asked_for_is_refused_before_anything_is_trained(name):
    with pytest.raises(SpecError, match=r"Registry\.name: .* does not look right"):
        Registry(name)
