"""Troubles that users of other systems reported of their gates, by row."""

import json
import math
import signal
from pathlib import Path

import pytest

from argosy.pipelines import (
    Accuracy,
    CustomGate,
    Dataset,
    Latency,
    Memory,
    ModelSize,
    NotWorseThanChampion,
    Parity,
    Pipeline,
    Registry,
    Slices,
    Training,
)
from argosy.pipelines.errors import SpecError
from argosy.steps import pod
from argosy.steps.contracts import ExitCode
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.verdict import AT_LEAST, AT_MOST, Measurement
from argosy.steps.gates import GateInput


@pytest.mark.parametrize(("metric", "direction"), [("accuracy", AT_LEAST), ("p99 latency", AT_MOST)])
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (math.nan, ExitCode.GATE_FAILED),
        (math.inf, ExitCode.GATE_FAILED),
        (-math.inf, ExitCode.GATE_FAILED),
        (1.0, ExitCode.OK),
    ],
)
def test_g1_g3_every_gate_leaves_a_verdict_and_what_is_not_finite_fails(tmp_path, metric, direction, value, code):
    inputs = GateInput(
        output=tmp_path,
        task="tasks:Task",
        cache=Path("cache"),
        dataset_hash="0" * 32,
        models=Path("models"),
        model="run/model",
        model_hash="0" * 64,
        gate="gate",
        confidence=0.95,
        inconclusive="pass",
    )
    measured = Measurement(metric, "", value, value, value, 10, "n = 10")
    before = signal.getsignal(signal.SIGTERM)
    try:
        ended = pod.end(lambda: (inputs, concluded(inputs, measured, 1.0, direction, 0.0)))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == code
    verdict = json.loads((tmp_path / "record.json").read_text(), parse_constant=pytest.fail)["verdict"]
    assert ("not finite" in verdict["reason"]) == (not math.isfinite(value))
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("gate", "given"),
    [
        (Accuracy, {}),
        (Slices, {"by": "ward"}),
        (NotWorseThanChampion, {}),
        (Latency, {"quantile": 0.9}),
        (Memory, {}),
        (ModelSize, {}),
        (Parity, {}),
    ],
)
def test_g1_a_gate_without_a_threshold_cannot_be_written(gate, given):
    with pytest.raises(SpecError, match=r"^\w+\.\w+: is missing; give "):
        gate(**given)


def test_g1_a_gate_of_ones_own_has_one_threshold_and_a_pipeline_a_gate():
    with pytest.raises(SpecError, match="one threshold is needed"):
        CustomGate(function="a:b")
    with pytest.raises(SpecError, match=r"Pipeline\.gates: \[\] is empty"):
        Pipeline(
            name="d", dataset=Dataset("d"), training=Training(task="a:B"), gates=[], registry=Registry("d"), image="i"
        )
