"""Whether a model that was made again is the same."""

import pytest

from argosy.pipelines.comparison import origin
from argosy.pipelines.comparison.answer import Sameness, judged
from argosy.steps.gates import Answer

OTHER = {"model_hash": "f" * 64}


def answered(recorded, again, tolerance=0.01, failure=""):
    before, after = origin.of_recipe("recorded", recorded), origin.of_recipe("again", again)
    return judged(before, after, lambda pin: {pin.sources[0].path: pin.hash}, tolerance, failure)


def test_the_same_model_file_is_the_same_whatever_else_differs(recipe):
    assert answered(recipe(), recipe(machine="another")).answer is Sameness.BYTES


@pytest.mark.parametrize(("estimate", "expected"), [(0.959, Sameness.TOLERANCE), (0.97, Sameness.DIFFERENT)])
def test_another_file_is_the_same_as_far_as_its_gates_agree(recipe, verdict, estimate, expected):
    again = recipe(**OTHER, verdicts={"accuracy-gate": verdict(estimate)})
    assert answered(recipe(), again).answer is expected


def test_another_answer_is_different_though_the_estimates_agree(recipe, verdict):
    again = recipe(**OTHER, verdicts={"accuracy-gate": verdict(answer=Answer.INCONCLUSIVE)})
    told = answered(recipe(), again)
    assert told.answer is Sameness.DIFFERENT
    assert told.reason == (
        "accuracy-gate: pass with accuracy 0.95 was recorded, inconclusive with accuracy 0.95 came out"
    )


@pytest.mark.parametrize("metric", ["rms", "accuracy of the worst farms"])
def test_a_metric_whose_name_ends_as_a_unit_does_decides(recipe, verdict, metric):
    recorded = recipe(verdicts={"accuracy-gate": verdict(metric=metric)})
    again = recipe(**OTHER, verdicts={"accuracy-gate": verdict(0.5, metric=metric)})
    assert answered(recorded, again).answer is Sameness.DIFFERENT


def test_a_gate_that_ran_and_gave_no_verdict_agrees_with_nothing(recipe):
    told = answered(recipe(), recipe(**OTHER, verdicts={}))
    assert told.answer is Sameness.DIFFERENT
    assert told.reason == "accuracy-gate: pass with accuracy 0.95 was recorded, no verdict came out"


def test_a_gate_that_was_left_out_is_not_missed(recipe, verdict):
    recorded = recipe(verdicts={"accuracy-gate": verdict(), "comparison-gate": verdict()})
    told = answered(recorded, recipe(**OTHER))
    assert told.answer is Sameness.TOLERANCE
    assert [one.what for one in told.differences] == ["model sha256"]


@pytest.mark.parametrize("metric", ["p99 latency ms", "peak memory MiB"])
def test_times_and_memory_decide_nothing(recipe, verdict, metric):
    recorded = recipe(verdicts={"latency-gate": verdict(1.0, metric=metric)})
    again = recipe(**OTHER, verdicts={"latency-gate": verdict(9.0, Answer.FAIL, metric)})
    assert answered(recorded, again).answer is Sameness.TOLERANCE


def test_other_data_is_named_though_the_results_agree(recipe, pin):
    again = recipe(**OTHER, dataset_pin=pin("b").model_dump_json(), dataset_hash=pin("b").hash)
    told = answered(recipe(), again)
    assert told.answer is Sameness.DIFFERENT
    assert told.reason == "it was made of something else: data data/digits"


def test_a_run_that_failed_is_different_for_its_own_reason(recipe):
    told = answered(recipe(), recipe(model_hash=""), failure="stage: data/1.tar: has md5 x")
    assert (told.answer, told.reason) == (Sameness.DIFFERENT, "stage: data/1.tar: has md5 x")


def test_a_run_that_made_no_model_is_different(recipe):
    assert answered(recipe(), recipe(model_hash="")).reason == "no model was made"
