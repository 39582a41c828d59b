"""A version's recipe, read back."""

import pytest

from argosy.steps import stored
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.publish import reading, rollback, step
from argosy.steps.registry import RecipeInput, RollbackInput

MANIFEST = "kind: Workflow\r\nmetadata: {name: ü}\n"


@pytest.fixture
def read(inputs, tmp_path):
    def recipe(version):
        given = {"registry": "digits", "tracking_uri": inputs().tracking_uri, "version": version}
        return reading.run(RecipeInput(output=tmp_path / "out", **given)).recipe

    return recipe


def test_the_recipe_that_is_read_is_the_one_that_was_published(inputs, read, verdict):
    pin = '{"sources": []}'
    verdicts = {"accuracy.gate": verdict("accuracy.gate"), "latency-gate": verdict("latency-gate")}
    made = inputs(
        manifest=stored.packed(MANIFEST), dataset_pin=pin, machine="Linux, 2 CPUs", verdicts=verdicts, seed="7"
    )
    step.run(made)
    found = read("@champion")
    same = ("run", "run_uid", "task", "revision", "dataset", "dataset_hash", "dataset_pin", "image", "model_hash")
    assert {name: getattr(found, name) for name in same} == {name: getattr(made, name) for name in same}
    assert (found.registered_model, found.version, found.machine) == ("digits", 1, "Linux, 2 CPUs")
    assert (found.manifest, found.verdicts) == (MANIFEST, verdicts)
    assert found.parameters == {"learning-rate": "0.01", "note": "a{{b"}
    assert found.training == {"loss": 0.125, "steps": 400}
    assert {"torch", "mlflow", "argosy"} <= found.packages.keys()
    assert read("1") == found


def test_the_recipe_is_files_that_a_person_can_read(inputs, tmp_path):
    step.run(inputs(manifest=stored.packed(MANIFEST)))
    (folder,) = (tmp_path / "registry/artifacts").rglob("recipe")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {"recipe.json", "manifest.yaml", "verdicts/accuracy-gate.json"}
    assert (folder / "manifest.yaml").read_bytes().decode() == MANIFEST


def test_a_version_without_a_recipe_is_said_to_lack_it(inputs, read, mlflow_client):
    step.run(inputs())
    first = mlflow_client.get_model_version("digits", "1")
    mlflow_client.create_model_version("digits", first.source + "/data", first.run_id)
    with pytest.raises(StepError, match=r"digits version 2: has no recipe/recipe\.json among its files") as caught:
        read("2")
    assert caught.value.exit_code == ExitCode.DATA


def test_a_recipe_that_is_damaged_is_said_to_be_none(inputs, read, tmp_path):
    step.run(inputs())
    (file,) = (tmp_path / "registry/artifacts").rglob("recipe.json")
    file.write_text("{")
    with pytest.raises(StepError, match=r"recipe/recipe\.json: is no recipe") as caught:
        read("1")
    assert caught.value.exit_code == ExitCode.DATA


@pytest.mark.parametrize(
    ("version", "said"), [("3", "there is no version 3; it has 1"), ("@staging", "no version is @staging")]
)
def test_a_version_that_is_not_there_is_said_so(inputs, read, version, said):
    step.run(inputs())
    with pytest.raises(StepError, match=f"digits: {said}") as caught:
        read(version)
    assert caught.value.exit_code == ExitCode.DATA


def test_a_model_that_nobody_has_registered_is_said_to_be_none(inputs, tmp_path):
    given = {"output": tmp_path / "out", "registry": "nosuch", "tracking_uri": inputs().tracking_uri}
    for missing in (
        lambda: reading.run(RecipeInput(**given, version="@champion")),
        lambda: rollback.run(RollbackInput(**given, alias="champion")),
    ):
        with pytest.raises(StepError, match="nosuch: the registry has no model of this name") as caught:
            missing()
        assert caught.value.exit_code == ExitCode.DATA


def test_a_manifest_that_is_not_packed_is_refused(inputs):
    with pytest.raises(StepError, match="--manifest: is no packed manifest") as caught:
        step.run(inputs(manifest="abcd"))
    assert caught.value.exit_code == ExitCode.USAGE
