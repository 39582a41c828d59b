"""The decision itself, without any model."""

import json
import math
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from argosy.steps import machine, pod
from argosy.steps.contracts import ExitCode
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.verdict import AT_LEAST, AT_MOST, Measurement, judge
from argosy.steps.gates import MOST_PARTS, GateInput, GateOutput, Part, Policy, Verdict

INPUTS = GateInput(
    output=Path("out"),
    task="argosy.steps.digits:Digits",
    cache=Path("cache"),
    dataset_hash="0" * 32,
    models=Path("models"),
    model="run/model",
    model_hash="0" * 64,
    gate="some-gate",
    confidence=0.95,
)


def measured(lower, estimate, upper, unit=""):
    return Measurement("metric", unit, estimate, lower, upper, 360, conditions="n = 360", advice="try more")


@pytest.mark.parametrize(
    ("direction", "bounds", "threshold", "answer", "decided"),
    [
        (AT_LEAST, (0.90, 0.92, 0.94), 0.90, "pass", (0.90, 0.0)),
        (AT_LEAST, (0.90, 0.92, 0.94), 0.91, "inconclusive", (0.90, -0.01)),
        (AT_LEAST, (0.90, 0.92, 0.94), 0.94, "inconclusive", (0.90, -0.04)),
        (AT_LEAST, (0.90, 0.92, 0.94), 0.95, "fail", (0.94, -0.01)),
        (AT_MOST, (40.0, 45.0, 50.0), 50.0, "pass", (50.0, 0.0)),
        (AT_MOST, (40.0, 45.0, 50.0), 49.0, "inconclusive", (50.0, -1.0)),
        (AT_MOST, (40.0, 45.0, 50.0), 40.0, "inconclusive", (50.0, -10.0)),
        (AT_MOST, (40.0, 45.0, 50.0), 39.0, "fail", (40.0, -1.0)),
    ],
)
def test_a_verdict_follows_from_the_bounds_and_never_from_the_estimate(direction, bounds, threshold, answer, decided):
    verdict = judge(INPUTS, measured(*bounds), threshold, direction)
    assert verdict.answer == answer
    assert (verdict.bound, verdict.margin) == pytest.approx(decided)


@pytest.mark.parametrize("direction", [AT_LEAST, AT_MOST])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_fails_and_its_verdict_is_still_json(direction, value):
    verdict = judge(INPUTS, measured(value, value, value), 0.5, direction)
    assert verdict.answer == "fail"
    assert "not finite" in verdict.reason
    text = verdict.model_dump_json()
    json.loads(text, parse_constant=pytest.fail)
    assert Verdict.model_validate_json(text) == verdict


@pytest.mark.parametrize(("lower", "upper", "direction"), [(None, 0.9, AT_LEAST), (40.0, None, AT_MOST)])
def test_without_the_bound_that_would_pass_it_nothing_passes(lower, upper, direction):
    verdict = judge(INPUTS, measured(lower, 0.8, upper), 0.5 if direction is AT_LEAST else 45.0, direction)
    assert (verdict.answer, verdict.bound, verdict.margin) == ("inconclusive", None, None)


def test_a_missing_pessimistic_bound_does_not_save_a_model_whose_optimistic_bound_breaks_the_threshold():
    verdict = judge(INPUTS, measured(60.0, 70.0, None), 50.0, AT_MOST)
    assert (verdict.answer, verdict.bound, verdict.margin) == ("fail", 60.0, -10.0)


@pytest.mark.parametrize(
    ("direction", "unit", "bounds", "threshold", "reason"),
    [
        (AT_LEAST, "", (0.953, 0.972, 0.99), 0.90, "metric 0.972 (lower bound 0.953 at 95 %) reaches 0.9, n = 360"),
        (AT_LEAST, "", (0.7, 0.8, 0.83), 0.90, "metric 0.8 (upper bound 0.83 at 95 %) stays below 0.9, n = 360"),
        (
            AT_MOST,
            "ms",
            (40.0, 45.0, 51.5),
            50.0,
            "metric 45 ms (bounds 40 ms and 51.5 ms at 95 %) may or may not keep within 50 ms, n = 360; try more",
        ),
        (AT_MOST, "MiB", (700.0, 700.0, 700.0), 512.0, "metric 700 MiB exceeds 512 MiB, n = 360"),
    ],
)
def test_the_reason_is_one_sentence_with_the_numbers_that_decided(direction, unit, bounds, threshold, reason):
    assert judge(INPUTS, measured(*bounds, unit=unit), threshold, direction).reason == reason


def test_the_verdict_says_how_on_what_and_where_it_was_reached():
    part = Part(name="a", answer="pass", estimate=0.9, bound=0.8, samples=3)
    given = replace(
        measured(0.90, 0.92, 0.94), method="exact", looks=2, planned=3, champion=4, parts=(part,) * (MOST_PARTS + 1)
    )
    verdict = judge(INPUTS.model_copy(update={"inconclusive": Policy.HOLD}), given, 0.91, AT_LEAST)
    assert (verdict.method, verdict.looks, verdict.champion) == ("exact", 2, 4)
    assert verdict.parts == (part,) * MOST_PARTS
    assert (verdict.dataset_hash, verdict.machine) == (INPUTS.dataset_hash, machine.fingerprint())
    assert (verdict.inconclusive, verdict.lets_pass) == ("hold", True)
    assert "at 95 % over 3 looks" in verdict.reason
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.parametrize(
    ("threshold", "policy", "code"),
    [
        (0.90, "fail", ExitCode.OK),
        (0.91, "fail", ExitCode.GATE_INCONCLUSIVE),
        (0.91, "hold", ExitCode.OK),
        (0.91, "pass", ExitCode.OK),
        (0.95, "hold", ExitCode.GATE_FAILED),
        (0.95, "pass", ExitCode.GATE_FAILED),
    ],
)
def test_the_policy_excuses_what_is_inconclusive_and_never_what_failed(threshold, policy, code, tmp_path, capfd):
    inputs = INPUTS.model_copy(update={"output": tmp_path, "inconclusive": Policy(policy)})
    before = signal.getsignal(signal.SIGTERM)
    try:
        ended = pod.end(lambda: (inputs, concluded(inputs, measured(0.90, 0.92, 0.94), threshold, AT_LEAST, 0.0)))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == code
    record = GateOutput.model_validate_json((tmp_path / "record.json").read_bytes())
    assert record.answer == record.verdict.answer
    assert (record.verdict.reason in capfd.readouterr().err) == (threshold != 0.90)
