"""Training on two nodes, by a queue of a real Kueue that has room for one such gang at a time."""

import json
import re
from collections.abc import Iterator
from datetime import datetime

import pytest
import yaml
from testcluster.services import wait_until
from testcluster.trainings import Trainings, training

from argosy.pipelines import Queue

pytestmark = pytest.mark.timeout(1200)  # whole trainings, one after the other

KUEUE = "kueue.x-k8s.io"
NODES = 2
QUEUES = f"""
apiVersion: {KUEUE}/v1beta2
kind: ResourceFlavor
metadata: {{name: gangs}}
---
apiVersion: {KUEUE}/v1beta2
kind: ClusterQueue
metadata: {{name: gangs}}
spec:
  namespaceSelector: {{}}
  preemption: {{withinClusterQueue: LowerPriority}}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: gangs
      resources: [{{name: cpu, nominalQuota: 400m}}, {{name: memory, nominalQuota: 8Gi}}]
---
apiVersion: {KUEUE}/v1beta2
kind: LocalQueue
metadata: {{name: gangs}}
spec: {{clusterQueue: gangs}}
---
apiVersion: {KUEUE}/v1beta2
kind: WorkloadPriorityClass
metadata: {{name: urgent}}
value: 1000
"""


@pytest.fixture(scope="module")
def trainings(cluster, tmp_path_factory) -> Iterator[Trainings]:
    if KUEUE not in cluster.kubectl("api-versions"):
        pytest.skip("the cluster has no Kueue")
    made = Trainings(cluster, tmp_path_factory.mktemp("gangs"))
    there = f"--namespace={cluster.namespace}"
    cluster.kubectl("apply", there, "-f", "-", stdin=QUEUES)
    yield made
    made.remove()
    cluster.kubectl("delete", there, "--wait=false", "-f", "-", stdin=QUEUES)


@pytest.fixture
def submit(trainings):
    """Submits a gang that needs all of the queue; its name."""

    def run(task: str = "Slow", *, epochs: int = 8, priority: str | None = None) -> str:
        queue = Queue("gangs", priority=priority)
        return trainings.submit(training(task, epochs=epochs, nodes=NODES, queue=queue))

    return run


PIPELINE = """\
    training=Training(
        nodes=2,
        queue=Queue("gangs"),
"""


def test_two_gangs_that_each_need_everything_take_turns_and_tell_what_they_do(cluster, trainings, submit, tmp_path):
    """One of them is the whole pipeline of the digits."""
    text = (cluster.project / "pipelines" / "digits.py").read_text()
    text = text.replace("    training=Training(\n", PIPELINE).replace("ranks_per_node=2", "ranks_per_node=1")
    file = tmp_path / "gang.py"
    file.write_text("from argosy.pipelines import Queue\n" + text.replace("cpu=1.5", "cpu=0.2"))
    short = ("-p", "epochs=3", "-p", "accuracy-at-least=0.1")
    told = json.loads(cluster.argosy(cluster.project, "submit", f"{file}:digits", "-c", "--json", "--again", *short))
    whole, other = told["name"], submit(epochs=3)
    trainings.submitted.append(whole)

    assert int(trainings.outputs(whole)["steps"]) == int(trainings.outputs(other)["steps"]) > 0
    jobs = [jobs_of(trainings, one) for one in (whole, other)]
    (first,), (second,) = sorted(jobs, key=lambda found: str(found[0]["status"]["startTime"]))
    assert ended(first) <= datetime.fromisoformat(second["status"]["startTime"])
    logs = {one: trainings.log(one) for one in (whole, other)}
    for log in logs.values():
        assert re.search(r"\bnode 0 \| step \d+/", log)
    waited = logs[second["metadata"]["labels"]["argosy.dev/run"]]
    assert "waits for quota: " in waited
    assert "insufficient unused quota" in waited
    over = lambda: cluster.workflow(whole)["status"]["phase"] != "Running"  # noqa: E731 - asked again and again
    wait_until(over, "the pipeline to end")
    assert cluster.workflow(whole)["status"]["phase"] == "Succeeded"


def test_a_gang_gives_way_to_one_of_higher_priority_and_goes_on_from_its_checkpoint_when_that_is_stopped(
    cluster, trainings, submit
):
    patient = submit(epochs=10)
    trainings.until_step(patient, 40)
    urgent = submit(epochs=100, priority="urgent")
    trainings.until_step(urgent, 1)
    assert {one["spec"]["suspend"] for one in jobs_of(trainings, patient)} == {True}

    cluster.argosy(cluster.project, "stop", urgent, "-c")
    assert trainings.ended(urgent)["phase"] == "Failed"
    until_gone(trainings, urgent)

    outputs = trainings.outputs(patient)
    assert 40 <= int(outputs["resumed-at-step"]) < int(outputs["steps"])
    assert len(trainings.attempts(patient)) == 1, "to be pre-empted is no failure"
    assert "is pre-empted: " in trainings.log(patient)


KILL = """
import os, pathlib, signal
for one in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if b"\\0-m\\0argosy.steps.train.worker\\0" in one.read_bytes():
        os.kill(int(one.parent.name), signal.SIGKILL)
"""


def test_a_gang_of_which_a_rank_is_killed_is_tried_again_from_its_checkpoint(trainings, submit):
    name = submit(epochs=10)
    trainings.until_step(name, 40)
    (pod,) = (one for one in pods_of(trainings, name) if is_node(one, 1))
    trainings.kubectl("exec", pod["metadata"]["name"], "--container=main", "--", "python", "-c", KILL)
    outputs = trainings.outputs(name)
    assert int(outputs["resumed-at-step"]) > 0
    first, second = trainings.attempts(name)
    assert re.search(r"node 1: rank 1 was killed.*; at step \d+, last checkpoint \d+", first["message"])
    assert second["phase"] == "Succeeded"
    assert len(jobs_of(trainings, name)) == 1, "the first attempt's is gone"


def test_a_rank_that_raises_is_quoted_and_not_tried_again(trainings, submit):
    name = submit("Raising")
    assert trainings.ended(name)["phase"] == "Failed"
    (attempt,) = trainings.attempts(name)
    words = r"node 1: rank 1: ValueError: no such label: 11 \(\S*troubled_digits\.py:\d+\); at step 40, last checkpoint"
    assert re.search(words, attempt["message"])


TERMINATE = '{"spec": {"shutdown": "Terminate"}}'


def test_a_gang_that_is_terminated_leaves_no_pod(trainings, submit):
    name = submit(epochs=100)
    trainings.until_step(name, 1)
    trainings.kubectl("patch", "workflow", name, "--type=merge", "--patch", TERMINATE)
    assert trainings.ended(name)["phase"] == "Failed"
    until_gone(trainings, name)


def jobs_of(trainings: Trainings, name: str) -> list[dict]:
    return found(trainings, "jobs", name)


def pods_of(trainings: Trainings, name: str) -> list[dict]:
    return found(trainings, "pods", name)


def found(trainings: Trainings, kind: str, name: str) -> list[dict]:
    text = trainings.kubectl("get", kind, f"--selector=argosy.dev/run={name}", "--output=yaml")
    items: list[dict] = yaml.load(text, yaml.CSafeLoader)["items"]
    return items


def until_gone(trainings: Trainings, name: str) -> None:
    """Waits until there is no Job of the run, and no pod of one."""
    selector = f"--selector=argosy.dev/run={name}"
    gone = lambda: trainings.kubectl("get", "jobs,pods", selector, "--output=name") == ""  # noqa: E731 - asked again and again
    wait_until(gone, f"the Job of {name} to be gone")


def is_node(pod: dict, rank: int) -> bool:
    return bool(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] == str(rank))


def ended(job: dict) -> datetime:
    return datetime.fromisoformat(job["status"]["completionTime"])
