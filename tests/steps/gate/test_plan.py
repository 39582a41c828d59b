"""A plan's numbers are those at which the gate really begins to pass, and a wrong question is refused in one line."""

import json
import subprocess
import sys

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gate import bounds, paired, plan, power
from argosy.steps.gate.planning import PlanInput


def planned(tmp_path, **fields):
    return plan.run(PlanInput(output=tmp_path, **fields))


@pytest.mark.parametrize(("threshold", "samples"), [(0.9, 28), (0.9, 29), (0.5, 100), (0.99, 1000)])
def test_the_counts_that_pass_and_fail_are_those_of_the_gates_own_bounds(threshold, samples):
    passing = [k for k in range(samples + 1) if bounds.proportion_lower(k, samples, 0.95) >= threshold]
    failing = [k for k in range(samples + 1) if bounds.proportion_upper(k, samples, 0.95) < threshold]
    assert power.fewest_passing(threshold, 0.95, samples) == min(passing, default=samples + 1)
    assert power.most_failing(threshold, 0.95, samples) == max(failing, default=-1)


@pytest.mark.parametrize("looks", [1, 3])
def test_with_one_sample_fewer_than_the_fewest_even_a_perfect_model_does_not_pass(tmp_path, looks):
    fewest = planned(tmp_path, gate="accuracy", threshold=0.9, expected=1, looks=looks).fewest
    own = 1 - 0.05 / looks
    assert bounds.proportion_lower(fewest, fewest, own) >= 0.9 > bounds.proportion_lower(fewest - 1, fewest - 1, own)


def test_with_one_sample_fewer_than_the_fewest_a_champions_equal_does_not_pass(tmp_path):
    fewest = planned(tmp_path, gate="champion", threshold=-0.02, expected=0, differing=0.1).fewest
    assert paired.difference(0, 0, fewest, 0.95).lower >= -0.02 > paired.difference(0, 0, fewest - 1, 0.95).lower


@pytest.mark.parametrize(
    "fields",
    [
        {"gate": "accuracy", "threshold": 0.9, "expected": 0.95},
        {"gate": "latency", "threshold": 0.99, "expected": 0.997},
        {"gate": "slices", "threshold": 0.9, "expected": 0.95, "slices": 5},
        {"gate": "champion", "threshold": -0.02, "expected": 0, "differing": 0.08},
        {"gate": "accuracy", "threshold": 0.7, "expected": 0.72, "spread": 0.2},
        {"gate": "champion", "threshold": -0.02, "expected": 0, "spread": 0.3},
        {"gate": "accuracy", "threshold": 0.9, "expected": 0.95, "cluster_size": 10, "correlation": 0.3},
        {"gate": "champion", "threshold": -0.02, "expected": 0, "differing": 0.08, "cluster_size": 4, "correlation": 1},
    ],
)
def test_the_samples_needed_have_the_wanted_power_and_fewer_do_not(tmp_path, fields):
    needed = planned(tmp_path, **fields).needed
    assert planned(tmp_path, **fields, available=needed).power >= 0.8
    assert planned(tmp_path, **fields, available=int(0.9 * needed)).power < 0.8


def test_samples_of_one_cluster_that_are_all_alike_count_as_one(tmp_path):
    alone = planned(tmp_path, gate="champion", threshold=-0.02, expected=0, differing=0.08)
    alike = planned(
        tmp_path, gate="champion", threshold=-0.02, expected=0, differing=0.08, cluster_size=4, correlation=1
    )
    assert alike.needed == pytest.approx(4 * alone.needed, abs=4)


def test_fewer_clusters_than_a_bound_needs_never_pass(tmp_path):
    clustered = {"gate": "accuracy", "threshold": 0.5, "expected": 0.99, "cluster_size": 8, "correlation": 0.1}
    found = planned(tmp_path, **clustered, available=159)
    assert (found.fewest, found.needed, found.power) == (160, 160, 0)
    assert planned(tmp_path, **clustered, available=160).power > 0.99


def test_more_looks_need_more_samples_at_most_and_say_how_many_each_takes(tmp_path):
    fields = {"gate": "accuracy", "threshold": 0.9, "expected": 0.95, "available": 500}
    one, three = planned(tmp_path, **fields), planned(tmp_path, **fields, looks=3, samples=100)
    assert (one.samples, three.samples) == ((500,), (100, 200, 400))
    assert one.needed < three.needed < 1.5 * one.needed


def test_a_model_that_is_no_better_than_the_threshold_needs_more_than_there_is(tmp_path):
    found = planned(tmp_path, gate="accuracy", threshold=0.9, expected=0.9, available=1000)
    assert found.needed is None
    assert 0.03 < found.power <= 0.05
    assert found.summary.startswith("no number of samples gives 80 %; 1,000 give ")


def test_a_hair_above_the_threshold_is_answered_at_once_too(tmp_path):
    assert planned(tmp_path, gate="accuracy", threshold=0.9, expected=0.901, looks=3).needed > 500_000


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gate": "champion", "threshold": -0.01, "expected": 0}, "--differing: is missing"),
        ({"gate": "champion", "threshold": -0.01, "expected": 0.1, "differing": 0.05}, "differ more often"),
        ({"gate": "accuracy", "threshold": 90, "expected": 95}, "predictions lie between 0 and 1"),
    ],
)
def test_a_question_without_an_answer_is_refused(tmp_path, fields, words):
    with pytest.raises(StepError, match=words) as caught:
        planned(tmp_path, **fields)
    assert caught.value.exit_code == ExitCode.USAGE


def test_the_program_writes_the_plan_as_json(tmp_path):
    words = ["--gate=accuracy", "--threshold=0.9", "--expected=0.95", f"--output={tmp_path}"]
    subprocess.run([sys.executable, "-m", "argosy.steps.gate.plan", *words], check=True)
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["fewest"], record["method"]) == (29, "exact binomial")
