"""What others may build on: a change here is a change of the interface, and belongs in the changelog."""

import inspect

import argosy.pipelines
from argosy.pipelines import templates
from argosy.steps import contracts

WORDS = """
    Accelerator Accuracy Checkpoints Claim CustomGate Dataset Git Latency Loop Memory ModelSize NodeFolder Nodes
    NotWorseThanChampion OnPush Parity Pipeline Placement Queue Registry Resources Scratch Slices Storage Toleration
    Topology Training Volcano
"""


def test_the_words_of_a_pipeline():
    assert argosy.pipelines.__all__ == WORDS.split()
    assert all(inspect.isclass(getattr(argosy.pipelines, word)) for word in WORDS.split())


def test_the_templates_for_a_dag_of_ones_own():
    own = inspect.getmembers(templates, lambda one: inspect.isfunction(one) and one.__module__ == templates.__name__)
    assert [name for name, _ in own if not name.startswith("_")] == ["gate", "pause", "publish", "stage", "train"]


def test_the_steps_and_their_exit_codes():
    assert [str(step) for step in contracts.CONTRACTS] == [
        "code", "resolve", "itemise", "stage", "ensure", "train", "gang", "accuracy-gate", "slices-gate",
        "champion-gate", "latency-gate", "memory-gate", "size-gate", "parity-gate", "custom-gate", "publish", "recipe",
        "rollback",
    ]  # fmt: skip
    assert {code.name: int(code) for code in contracts.ExitCode} == {
        "OK": 0, "CODE": 1, "USAGE": 2, "DATA": 65, "TEMPORARY": 75, "CONFIGURATION": 78,
        "OUT_OF_MEMORY": 79, "GATE_FAILED": 80, "GATE_INCONCLUSIVE": 81,
    }  # fmt: skip
