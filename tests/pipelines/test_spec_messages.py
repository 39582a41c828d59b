"""A noun that is given a wrong value says which field, which value, and what to do."""

import pytest
from pydantic import BaseModel, Field, create_model

from argosy.pipelines import (
    Accuracy,
    Checkpoints,
    Claim,
    Dataset,
    Git,
    Latency,
    NodeFolder,
    Pipeline,
    Registry,
    Resources,
    Scratch,
    Storage,
    Training,
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
        (lambda: Training(task="a:B", nodes=2), "Training.nodes: 2 nodes cannot be trained on yet; set nodes to 1"),
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


def test_nouns_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Accuracy(at_least=0.9).at_least = 0.1


def test_longest_name_leaves_room_for_what_a_run_adds():
    assert len(pipeline(name="a" * 57).workflow().generate_name) + 5 == 63


def test_thresholds_of_gates_of_one_kind_have_different_names():
    gates = [Accuracy(at_least=0.9), Accuracy(at_least=0.5, name="hard-cases-gate")]
    assert [gate.parameter for gate in pipeline(gates=gates).gates] == ["accuracy-at-least", "hard-cases-at-least"]
