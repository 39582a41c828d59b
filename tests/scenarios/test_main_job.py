"""The main job from end to end: staged, trained, judged, published, and told."""

import subprocess

import pytest

pytestmark = pytest.mark.timeout(600)


def test_the_reference_pipeline_registers_a_judged_model_with_its_recipe(digits):
    run = digits.json("run", "digits")
    assert run["phase"] == "Succeeded"

    (version,) = digits.versions()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=digits.path, capture_output=True, text=True, check=True)
    lock = (digits.path / "dvc.lock").read_text()
    assert version.tags["argosy.revision"] == commit.stdout.strip()
    assert version.tags["argosy.dataset_hash"] in lock
    assert version.tags["argosy.task"] == "argosy.steps.digits:Digits"
    assert version.tags["argosy.run"] == run["name"]
    assert "reaches 0.9" in version.tags["argosy.gate.accuracy-gate"]

    told = digits.argosy("show")
    for words in (run["name"], "stage", "accuracy-gate", "digits version 1", "lower bound"):
        assert words in told

    again = digits.json("run", "digits")
    assert again["name"] == run["name"]
    assert len(digits.versions()) == 1


def test_a_gate_that_says_no_publishes_nothing_and_says_why(digits):
    manifest = digits.argosy("compile", "digits")
    assert "value: '0.9'" in manifest
    (digits.path / "strict.yaml").write_text(manifest.replace("value: '0.9'", "value: '0.9999'"))
    run = digits.json("run", "strict.yaml", "-p", "epochs=2", code=3)
    gate = next(step for step in run["steps"] if step["name"] == "accuracy-gate")
    assert run["phase"] == "Failed"
    assert gate["message"].startswith("main: Error (exit code 8")
    assert "0.9999" in gate["message"]
    assert next(step for step in run["steps"] if step["name"] == "publish")["phase"] == "Omitted"
    assert not (digits.path / ".argosy" / "claims" / "argosy-registry" / "mlflow.db").exists()
