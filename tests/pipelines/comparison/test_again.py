"""A recorded manifest, made fit to run again."""

import pytest

from argosy.pipelines.commands import reproduce
from argosy.pipelines.commands.mistake import Mistake
from argosy.pipelines.comparison import again
from argosy.steps import values


def test_what_publishes_compares_or_waits_is_left_out(recipe):
    spec = again.manifest(recipe())["spec"]
    assert [one["name"] for one in spec["templates"]] == ["pipeline", "train", "accuracy-gate"]
    assert [task["name"] for task in spec["templates"][0]["dag"]["tasks"]] == ["train", "accuracy-gate"]


def test_the_run_says_which_model_it_makes_again(recipe):
    metadata = again.manifest(recipe())["metadata"]
    assert metadata["generateName"] == "digits-again-"
    assert metadata["annotations"][again.MAKES_AGAIN] == "models:/digits/3"


def test_the_recorded_runs_own_name_is_not_taken_again(recipe):
    named = recipe(manifest=recipe().manifest.replace("generateName: digits-", "name: digits-1a2b3c4d"))
    metadata = again.manifest(named)["metadata"]
    assert "name" not in metadata
    assert metadata["generateName"] == "digits-1a2b3c4d-again-"


def test_a_recipe_without_manifest_is_refused(recipe):
    with pytest.raises(again.NotAgainError, match="holds no manifest"):
        again.manifest(recipe(manifest=""))


def test_recorded_values_come_back_as_the_manifest_takes_them(recipe, pin):
    made = recipe(parameters={"epochs": "{{x}}", "gone": "1"})
    given = again.parameters(again.manifest(made), made, pin(), "f" * 40)
    assert given == {
        "epochs": values.encode("{{x}}"),
        "dataset": "data/digits",
        "dataset-pin": values.encode(pin()),
        "revision": "f" * 40,
    }


def test_files_that_no_commit_has_are_not_for_a_cluster(recipe):
    with pytest.raises(Mistake, match="leave out --cluster and give --here"):
        reproduce._on_cluster({}, recipe(revision=f"{'c' * 40}-dirty"), "", as_json=False)
