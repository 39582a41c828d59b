"""Gates over thousands of simulated evaluations: how often each answer comes, beside how often it was said to come.

Models here are exactly as good as the threshold, or as the champion, or as a plan expected; only chance decides.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import bdtrc

from argosy.steps.gate import accuracy, looks, plan, slices
from argosy.steps.gate.planning import PlanInput
from argosy.steps.gate.power import fewest_passing, of_mean, of_proportion, of_slices
from argosy.steps.gate.scores import Scores, difference
from argosy.steps.gate.verdict import AT_LEAST, Measurement, answer
from argosy.steps.gates import AccuracyInput, Answer, SlicesInput

EVALUATIONS = 2000
GATE = {
    "output": Path("out"),
    "task": "tasks:Task",
    "cache": Path("cache"),
    "dataset_hash": "0" * 32,
    "models": Path("models"),
    "model": "run/model",
    "model_hash": "0" * 64,
    "gate": "gate",
    "confidence": 0.95,
}


def scores(each, clusters=None):
    values = each.astype(float)
    numbers = np.arange(len(each)) if clusters is None else clusters
    return Scores(lambda chosen: float(values[chosen].mean()), values, each.dtype == bool, numbers, broken=0)


def near(share, expected, deviations=3.5):
    """Whether simulations with this expected share give that one, but for once in two thousand tests."""
    return abs(share - expected) <= deviations * math.sqrt(expected * (1 - expected) / EVALUATIONS)


def at_most(share, error):
    return share <= error or near(share, error)


def shares(evaluate, seed=1):
    """Answer -> how often it came."""
    rng = np.random.default_rng(seed)
    answers = [evaluate(rng) for _ in range(EVALUATIONS)]
    return {one: answers.count(one) / EVALUATIONS for one in Answer}


def judged(sizes, threshold, measure):
    return answer(looks.taken(sizes, 0.95, threshold, AT_LEAST, measure), threshold, AT_LEAST)


def accuracy_gate(sizes, threshold, draw):
    """An evaluation whose samples `draw(rng)` gives, for the last look; the first ones are those of the others."""
    inputs = AccuracyInput(**GATE, at_least=threshold)

    def evaluate(rng):
        each, clusters = draw(rng)

        def measure(size, confidence):
            part = None if clusters is None else clusters[:size]
            return accuracy.measurement(inputs, scores(each[:size], part), confidence, seed=0)

        return judged(sizes or [len(each)], threshold, measure)

    return evaluate


def right(probability, count):
    return lambda rng: (rng.random(count) < probability, None)


@pytest.mark.parametrize(("threshold", "samples"), [(0.9, 1000), (0.99, 500), (0.5, 40)])
def test_a_model_exactly_at_the_threshold_passes_just_as_often_as_the_exact_bound_lets_it(threshold, samples):
    found = shares(accuracy_gate([samples], threshold, right(threshold, samples)))
    exact = float(bdtrc(fewest_passing(threshold, 0.95, samples) - 1, samples, threshold))
    assert exact <= 0.05
    assert near(found[Answer.PASS], exact)
    assert at_most(found[Answer.FAIL], 0.05)


@pytest.mark.parametrize("sizes", [[100, 200, 400, 800], [250, 500]])
def test_looks_share_the_error_and_take_no_more_than_it(sizes):
    found = shares(accuracy_gate(sizes, 0.9, right(0.9, sizes[-1])))
    assert at_most(found[Answer.PASS], 0.05)
    assert at_most(found[Answer.FAIL], 0.05)
    assert near(found[Answer.PASS], of_proportion(sizes, 0.9, 0.9, 0.95))
    assert found[Answer.PASS] > 0.05 / 3, "the looks are stricter than they need be"


def patients(count, probability, correlation, smallest=2, largest=18):
    """Right and wrong answers of clusters of so many samples, with this correlation within a cluster."""
    first, second = (share * (1 - correlation) / correlation for share in (probability, 1 - probability))

    def draw(rng):
        sizes = rng.integers(smallest, largest + 1, size=count)
        clusters = np.repeat(np.arange(count), sizes)
        return rng.random(len(clusters)) < rng.beta(first, second, size=count)[clusters], clusters

    return draw


def test_samples_of_one_cluster_do_not_count_as_independent_ones():
    draw = patients(60, 0.85, 0.3)
    found = shares(accuracy_gate(None, 0.85, draw))
    assert at_most(found[Answer.PASS], 0.05)
    assert at_most(found[Answer.FAIL], 0.05)
    assert found[Answer.PASS] > 0.025, "a two-sided bound"
    alone = shares(accuracy_gate(None, 0.85, lambda rng: (draw(rng)[0], None)))
    assert alone[Answer.PASS] > 0.12, "the clusters are too weak for this test to mean anything"


def test_skewed_scores_pass_at_the_threshold_no_more_often_than_stated():
    found = shares(accuracy_gate(None, 0.9, lambda rng: (rng.beta(4.5, 0.5, size=60), None)))
    assert at_most(found[Answer.PASS], 0.05)
    assert at_most(found[Answer.FAIL], 0.05)


@pytest.mark.parametrize("drawn", [(40, 0.995, 0.3), (50, 0.95, 0.3, 1, 19), (40, 0.95, 0.5, 1, 19)])
def test_clusters_of_which_few_err_pass_no_more_often_than_stated(drawn):
    found = shares(accuracy_gate(None, drawn[1], patients(*drawn)))
    assert found[Answer.PASS] <= 0.05


# ---------------------------------------------------------------------------------------------- champion


def compared(sizes, margin, differing, worse_by=0.0):
    """An evaluation of two models that differ on this share of the samples; the new one is worse by so much."""

    def evaluate(rng):
        drawn = rng.random(sizes[-1])
        gained, lost = drawn < (differing - worse_by) / 2, drawn > 1 - (differing + worse_by) / 2
        same = rng.random(sizes[-1]) < 0.9
        new, old = (same & ~lost) | gained, (same & ~gained) | lost

        def measure(size, confidence):
            found = difference(scores(new[:size]), scores(old[:size]), confidence, seed=0)
            return Measurement("difference", "", found.estimate, found.lower, found.upper, size, "")

        return judged(sizes, -margin, measure)

    return evaluate


@pytest.mark.parametrize("sizes", [[400], [100, 200, 400]])
def test_two_equal_models_are_called_worse_no_more_often_than_stated(sizes):
    found = shares(compared(sizes, 0.0, differing=0.2))
    assert at_most(found[Answer.FAIL], 0.05)
    assert at_most(found[Answer.PASS], 0.05), "with no margin to pass is to be better"
    assert found[Answer.FAIL] > (0.03 if len(sizes) == 1 else 0.015), "a two-sided bound"


@pytest.mark.parametrize("differing", [0.03, 0.1])
def test_a_model_worse_by_the_margin_passes_no_more_often_than_stated(differing):
    found = shares(compared([600], 0.02, differing, worse_by=0.02))
    assert at_most(found[Answer.PASS], 0.05)


def test_paired_clusters_are_not_called_worse_more_often_than_stated():
    """Whole patients are easier for the one model or the other."""

    def evaluate(rng):
        clusters = np.repeat(np.arange(60), 8)
        new, old = (rng.random(480) < rng.beta(4, 1, size=60)[clusters] for _ in range(2))
        found = difference(scores(new, clusters), scores(old, clusters), 0.95, seed=0)
        return answer(Measurement("d", "", found.estimate, found.lower, found.upper, 480, ""), 0.0, AT_LEAST)

    found = shares(evaluate)
    assert at_most(found[Answer.FAIL], 0.05)
    assert at_most(found[Answer.PASS], 0.05)
    assert found[Answer.FAIL] > 0.025


# ---------------------------------------------------------------------------------------------- slices

SLICES = SlicesInput(**GATE, at_least=0.9, by="hospital", support=30)


def sliced(probabilities, samples):
    labels = [str(number) for number in range(len(probabilities)) for _ in range(samples)]
    each = np.repeat(probabilities, samples)

    def evaluate(rng):
        found = slices.measurement(SLICES, scores(rng.random(len(each)) < each), labels, 0.95, seed=0)
        return answer(found, SLICES.at_least, AT_LEAST)

    return evaluate


def test_one_slice_at_the_threshold_lets_a_model_pass_no_more_often_than_stated():
    found = shares(sliced([0.9, 0.99, 0.99, 0.99], 250))
    exact = float(bdtrc(fewest_passing(0.9, 0.95, 250) - 1, 250, 0.9))
    assert near(found[Answer.PASS], exact), "of slices that are all good but one, only that one decides"


def test_of_many_slices_at_the_threshold_none_is_called_worse_more_often_than_stated():
    found = shares(sliced([0.9] * 8, 250))
    assert at_most(found[Answer.FAIL], 0.05)
    assert found[Answer.PASS] < 0.01


# ---------------------------------------------------------------------------------------------- power


@pytest.mark.parametrize("sizes", [[200], [60, 120, 240]])
def test_accuracy_has_the_power_that_was_planned(sizes):
    found = shares(accuracy_gate(sizes, 0.9, right(0.95, sizes[-1])))
    assert near(found[Answer.PASS], of_proportion(sizes, 0.9, 0.95, 0.95))


def test_slices_have_the_power_that_was_planned():
    found = shares(sliced([0.95] * 4, 300))
    assert near(found[Answer.PASS], of_slices([1200], 4, 0.9, 0.95, 0.95))


def test_clusters_have_the_power_that_was_planned_but_for_the_approximation(tmp_path):
    fields = {"gate": "accuracy", "threshold": 0.85, "expected": 0.9, "cluster_size": 10, "correlation": 0.3}
    needed = plan.run(PlanInput(output=tmp_path, **fields)).needed
    found = shares(accuracy_gate(None, 0.85, patients(needed // 10, 0.9, 0.3, 8, 12)))
    assert found[Answer.PASS] == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("sizes", [[800], [300, 600]])
def test_a_comparison_has_the_power_that_was_planned_but_for_the_approximation(sizes):
    found = shares(compared(sizes, 0.02, differing=0.06))
    assert found[Answer.PASS] == pytest.approx(of_mean(sizes, 0.02, math.sqrt(0.06), 0.95), abs=0.06)
