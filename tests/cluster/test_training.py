"""Training in one pod on a real Kubernetes: what its end is called, and what happens next."""

import re
from collections.abc import Iterator

import pytest
from testcluster.trainings import Trainings, training

pytestmark = pytest.mark.timeout(1200)  # whole trainings beside each other

OUT_OF_MEMORY = 79


@pytest.fixture(scope="module")
def trainings(cluster, tmp_path_factory) -> Iterator[Trainings]:
    made = Trainings(cluster, tmp_path_factory.mktemp("trainings"))
    yield made
    made.remove()


@pytest.fixture(scope="module")
def runs(trainings) -> dict[str, str]:
    """The name of each run; all go on beside each other."""
    return {
        "Slow": trainings.submit(training("Slow", epochs=10)),
        "Raising": trainings.submit(training("Raising", ranks_per_node=2)),
        "Greedy": trainings.submit(training("Greedy", epochs=1, memory="900Mi", more_memory="2Gi")),
    }


def test_training_whose_pod_is_deleted_goes_on_from_its_checkpoint(trainings, runs):
    name = runs["Slow"]
    trainings.until_step(name, 40)
    trainings.kubectl("delete", "pod", "--wait=false", f"--selector=workflows.argoproj.io/workflow={name}")
    outputs = trainings.outputs(name)
    assert 40 <= int(outputs["resumed-at-step"]) < int(outputs["steps"])
    first, second = trainings.attempts(name)
    assert (first["phase"] in {"Error", "Failed"}, second["phase"]) == (True, "Succeeded")


def test_a_fault_of_the_code_is_told_and_not_tried_again(trainings, runs):
    assert trainings.ended(runs["Raising"])["phase"] == "Failed"
    (attempt,) = trainings.attempts(runs["Raising"])
    words = r"rank 1: ValueError: no such label: 11 \(\S*troubled_digits\.py:\d+\); at step 40, last checkpoint \d+"
    assert re.search(words, attempt["message"])


def test_training_that_ran_out_of_memory_is_tried_once_more_with_more(trainings, runs):
    trainings.outputs(runs["Greedy"])
    first, second = trainings.attempts(runs["Greedy"])
    assert "rank 0 was killed: out of memory (limit" in first["message"]
    assert first["outputs"]["exitCode"] == str(OUT_OF_MEMORY)
    assert second["phase"] == "Succeeded"
