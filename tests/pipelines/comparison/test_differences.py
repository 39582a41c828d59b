"""What two trainings differ in."""

import pytest

from argosy.pipelines.comparison import origin
from argosy.pipelines.comparison.differences import Difference, Heading, differences
from argosy.steps.gates import Answer

FILES = {"a": {"data/digits/1.tar": "x", "data/digits/2.tar": "y"}, "b": {"data/digits/1.tar": "x"}}


def nothing_to_itemise(_pin):
    raise AssertionError("the data is the same, and its files were asked for")


def itemised(pin):
    return FILES[pin.sources[0].hash[0]]


def between(left, right, itemise=nothing_to_itemise):
    return differences(origin.of_recipe("left", left), origin.of_recipe("right", right), itemise)


def test_a_recipe_does_not_differ_from_itself(recipe):
    assert between(recipe(), recipe(run="another", run_uid="another", version=4)) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"revision": "d" * 40}, Difference(Heading.CODE, "commit", "c" * 40, "d" * 40)),
        ({"revision": ""}, Difference(Heading.CODE, "commit", "c" * 40, "not known")),
        ({"parameters": {"epochs": "4"}}, Difference(Heading.PARAMETERS, "epochs", "3", "4")),
        ({"parameters": {}}, Difference(Heading.PARAMETERS, "epochs", "3", "none")),
        ({"image": "y"}, Difference(Heading.IMAGE, "", "x", "y")),
        ({"packages": {"torch": "2.8"}}, Difference(Heading.PACKAGES, "torch", "2.9", "2.8")),
        ({"machine": "another"}, Difference(Heading.MACHINE, "", "a machine", "another")),
        ({"model_hash": "f" * 64}, Difference(Heading.RESULT, "model sha256", "e" * 64, "f" * 64)),
        ({"training": {"loss": 0.2}}, Difference(Heading.RESULT, "loss", "0.1", "0.2")),
    ],
)
def test_each_difference_stands_under_its_heading(recipe, changed, expected):
    assert between(recipe(), recipe(**changed)) == [expected]


def test_the_image_of_a_step_stands_under_no_other_heading(recipe):
    changed = recipe(manifest=recipe().manifest.replace("image: x", "image: y"))
    assert between(recipe(), changed) == []


def test_how_a_training_went_is_no_result(recipe):
    slower = recipe(training={"loss": 0.1, "seconds": 9, "samples_per_second": 3, "resumed_at_step": 5, "steps": 9})
    assert between(recipe(training={"loss": 0.1, "seconds": 5, "samples_per_second": 6, "steps": 8}), slower) == []


def test_packages_that_one_side_does_not_know_are_no_difference(recipe):
    assert between(recipe(), recipe(packages={})) == []


def test_data_differs_file_by_file(recipe, pin):
    other = pin("b")
    found = between(recipe(), recipe(dataset_pin=other.model_dump_json(), dataset_hash=other.hash), itemised)
    assert found == [Difference(Heading.DATA, "data/digits/2.tar", "y", "none")]


def test_data_of_the_same_files_in_another_place_differs(recipe, pin):
    other = pin("b").model_copy(update={"dataset": "data/b"})
    found = between(recipe(), recipe(dataset_pin=other.model_dump_json()), lambda _pin: {"1.tar": "x"})
    assert [one.heading for one in found] == [Heading.DATA]


def test_an_argument_of_a_step_differs_by_its_name(recipe):
    changed = recipe(manifest=recipe().manifest.replace("--seed=1", "--queue=q, --seed=2"))
    assert between(recipe(), changed) == [
        Difference(Heading.MANIFEST, "train.container.args[--seed]", "1", "2"),
        Difference(Heading.MANIFEST, "train.container.args[--queue]", "none", "q"),
    ]


def test_a_step_that_only_one_has_is_one_difference(recipe):
    shorter = recipe(manifest=recipe().manifest.replace("  - {name: hold, suspend: {}}\n", ""))
    assert between(recipe(), shorter) == [Difference(Heading.MANIFEST, "hold", "there", "none")]


def test_the_manifest_that_a_manifest_holds_is_no_difference(recipe):
    changed = recipe(manifest=recipe().manifest.replace("--manifest=", "--manifest=eJw"))
    assert between(recipe(), changed) == []


def test_another_answer_of_a_gate_is_a_difference_of_the_result(recipe, verdict):
    found = between(recipe(), recipe(verdicts={"accuracy-gate": verdict(0.85, Answer.FAIL)}))
    assert found == [Difference(Heading.RESULT, "accuracy-gate", "pass, accuracy 0.95", "fail, accuracy 0.85")]
