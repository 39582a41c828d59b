"""Staging on a real Argo: once for a node, right on a cold one, and never by more pods than the cluster allows."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hera.workflows import DAG, Task, Workflow
from testcluster.digits import commit
from testcluster.services import wait_until

from argosy.pipelines import Dataset, Resources, Scratch, Storage, templates
from argosy.pipelines.compile import compiled

SECONDS_FOR_A_RUN = 300
FILES, FILE_BYTES = 40, 100_000
SMALL = Resources(cpu=0.2, memory="512Mi")
"""Several such pods fit on the node at once, so that nothing but the semaphore keeps them apart."""


@pytest.fixture(scope="module")
def project(cluster, tmp_path_factory) -> Path:
    """A project whose dataset no node has ever seen."""
    folder = tmp_path_factory.mktemp("project")
    subprocess.run(["git", "clone", "--quiet", cluster.project, folder], check=True)
    data = folder / "data" / "unseen"
    data.mkdir(parents=True)
    for number in range(FILES):
        (data / f"train-{number:04}.tar").write_bytes(os.urandom(FILE_BYTES))
    dvc = Path(sys.executable).with_name("dvc")
    for words in (("add", "--quiet", "data/unseen"), ("push", "--quiet", "data/unseen.dvc")):
        subprocess.run([dvc, *words], cwd=folder, env=os.environ | cluster.environment, check=True)
    commit(folder, "Data that no node has seen")
    return folder


@pytest.fixture(scope="module")
def pin(cluster, project, tmp_path_factory) -> str:
    """What a submission makes of that dataset: all that the pods are given."""
    output = tmp_path_factory.mktemp("output")
    words = [f"--{name}={value}" for name, value in (("dataset", "data/unseen"), ("project", project))]
    command = [sys.executable, "-m", "argosy.steps", "resolve", *words, f"--output={output}"]
    subprocess.run(command, env=os.environ | cluster.environment, check=True)
    return (output / "dataset-pin").read_text()


@pytest.fixture
def submit(cluster, project, pin, tmp_path) -> Iterator[Callable[..., str]]:
    """Submits a workflow that stages the data, and does nothing else; its name. What still runs goes with the test."""
    submitted = []

    def run(**settings: object) -> str:
        with Workflow(
            name=f"staging-{uuid.uuid4().hex[:8]}",
            entrypoint="all",
            service_account_name="argosy-steps",
            arguments={"dataset-pin": pin},
        ) as workflow:
            stage = templates.stage(
                Dataset("data/unseen", resources=SMALL), image=cluster.image, storage=Storage(**settings)
            )
            with DAG(name="all"):
                Task(name="stage", template=stage, arguments={"dataset-pin": "{{workflow.parameters.dataset-pin}}"})
        file = tmp_path / f"{workflow.name}.yaml"
        file.write_text(compiled(workflow))
        told = json.loads(cluster.argosy(project, "submit", str(file), "-c", "--json"))
        submitted.append(str(told["name"]))
        return submitted[-1]

    yield run
    cluster.kubectl("delete", "workflow", *submitted, f"--namespace={cluster.namespace}", "--ignore-not-found")


@pytest.fixture
def ended(cluster) -> Callable[[str], dict]:
    """The node that staged, once its workflow has ended well."""

    def wait(name: str) -> dict:
        phase = lambda: cluster.workflow(name)["status"].get("phase")  # noqa: E731 - asked again and again
        wait_until(lambda: phase() not in (None, "Pending", "Running"), f"{name} to end", SECONDS_FOR_A_RUN)
        assert phase() == "Succeeded", cluster.argosy(Path.cwd(), "logs", name, "-c")
        return pod_of(cluster.workflow(name))

    return wait


def test_two_pipelines_with_the_same_data_on_one_node_fetch_it_once(submit, ended):
    names = [submit(staging=None) for _ in range(2)]
    staged = [outputs(ended(name)) for name in names]
    assert {int(one["bytes"]) for one in staged} == {FILES * FILE_BYTES}
    assert sum(int(one["fetched-bytes"]) for one in staged) == FILES * FILE_BYTES
    assert sorted(int(one["hits"]) for one in staged) == [0, FILES]


def test_the_node_that_staged_is_named(cluster, submit, ended):
    there = cluster.kubectl("get", "nodes", "--output=jsonpath={.items[*].metadata.name}").split()
    assert outputs(ended(submit(staging=None)))["node"] in there


QUICK = ("-p", "epochs=1", "-p", "accuracy-at-least=0.1")


def test_a_training_pod_on_a_node_without_the_data_starts_correctly(cluster, tmp_path):
    """Each pod has a cache of its own, which is empty when it starts: every node is cold."""
    text = (cluster.project / "pipelines" / "digits.py").read_text()
    file = tmp_path / "cold.py"
    names = "from argosy.pipelines import Scratch, Storage\n"
    file.write_text(names + text.replace("\n    image=", "\n    storage=Storage(cache=Scratch()),\n    image="))
    told = json.loads(cluster.argosy(cluster.project, "submit", f"{file}:digits", "-c", "--watch", "--json", *QUICK))
    run = cluster.workflow(told["name"])
    (train,) = (one for one in run["status"]["nodes"].values() if one["displayName"] == "train")
    assert train["phase"] == "Succeeded"
    log = cluster.argosy(cluster.project, "logs", told["name"], "train", "-c")
    assert "staged 8/8 files" in log, "the pod itself has fetched what it trains on"


@pytest.fixture
def semaphore(cluster) -> Iterator[str]:
    """The name of a ConfigMap by which two pods may stage at once."""
    name = f"staging-{uuid.uuid4().hex[:8]}"
    there = f"--namespace={cluster.namespace}"
    cluster.kubectl("create", "configmap", name, "--from-literal=pods=2", there)
    yield name
    cluster.kubectl("delete", "configmap", name, there)


IN_FIVE_SECONDS = FILES * FILE_BYTES / 1e6 / 5
"""Megabytes in a second: slow enough for pods to overlap if they could."""

NEVER = 0.001


def test_five_workflows_stage_two_at_a_time(submit, ended, semaphore):
    storage = {"cache": Scratch(), "staging": semaphore, "at_most_mb_per_second": IN_FIVE_SECONDS}
    pods = [ended(name) for name in [submit(**storage) for _ in range(5)]]
    assert all(int(outputs(pod)["fetched-bytes"]) for pod in pods), "each pod has had to fetch"
    assert most_at_once(pods) == 2


TERMINATE = '{"spec": {"shutdown": "Terminate"}}'


@pytest.mark.parametrize("end", ["stopped", "terminated", "deleted"])
def test_a_workflow_that_is_ended_while_it_stages_gives_its_place_to_the_next(end, cluster, submit, ended, semaphore):
    storage = {"cache": Scratch(), "staging": semaphore}
    holders = [submit(**storage, at_most_mb_per_second=NEVER) for _ in range(2)]
    wait_until(lambda: all(is_running(cluster.workflow(one)) for one in holders), "both to stage", SECONDS_FOR_A_RUN)
    waiting = submit(**storage, at_most_mb_per_second=IN_FIVE_SECONDS)
    wait_until(lambda: "Waiting for" in waits_for(cluster.workflow(waiting)), "the third to wait", 60)
    there = f"--namespace={cluster.namespace}"
    if end == "stopped":
        cluster.argosy(cluster.project, "stop", holders[0], "-c")
    elif end == "terminated":
        cluster.kubectl("patch", "workflow", holders[0], there, "--type=merge", "--patch", TERMINATE)
    else:
        cluster.kubectl("delete", "workflow", holders[0], there)
    assert ended(waiting)["phase"] == "Succeeded"


def pod_of(workflow: dict) -> dict:
    (pod,) = (one for one in workflow["status"]["nodes"].values() if one["type"] == "Pod")
    return pod


def is_running(workflow: dict) -> bool:
    nodes = (workflow["status"].get("nodes") or {}).values()
    return any(one["type"] == "Pod" and one["phase"] == "Running" for one in nodes)


def waits_for(workflow: dict) -> str:
    nodes = (workflow["status"].get("nodes") or {}).values()
    return " ".join(one.get("message", "") for one in nodes)


def outputs(pod: dict) -> dict[str, str]:
    return {one["name"]: one["value"] for one in pod["outputs"]["parameters"]}


def most_at_once(pods: list[dict]) -> int:
    """The most pods that were there at the same time; one that begins when another ends follows it."""
    changes = sorted(
        [(datetime.fromisoformat(pod["finishedAt"]), -1) for pod in pods]
        + [(datetime.fromisoformat(pod["startedAt"]), 1) for pod in pods]
    )
    there = most = 0
    for _, change in changes:
        there += change
        most = max(most, there)
    return most
