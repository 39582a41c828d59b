"""Recipes of models that were never trained."""

import pytest

from argosy.steps.gates import Answer, Verdict
from argosy.steps.pins import Pin
from argosy.steps.registry import Recipe

MANIFEST = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: digits-}
spec:
  entrypoint: pipeline
  arguments:
    parameters: [{name: dataset}, {name: dataset-pin}, {name: revision}, {name: epochs, value: "3"}]
  templates:
  - name: pipeline
    dag:
      tasks:
      - {name: train, template: train}
      - {name: accuracy-gate, template: accuracy-gate, depends: train.Succeeded}
      - {name: champion-gate, template: champion-gate, depends: train.Succeeded}
      - {name: accuracy-gate-hold, template: hold, depends: accuracy-gate.Succeeded}
      - {name: publish, template: publish, depends: accuracy-gate.Succeeded && champion-gate.Succeeded}
  - {name: train, container: {image: x, command: [python, -m, argosy.steps], args: [train, --seed=1]}}
  - {name: accuracy-gate, container: {image: x, command: [python, -m, argosy.steps], args: [accuracy-gate]}}
  - {name: champion-gate, container: {image: x, command: [python, -m, argosy.steps], args: [champion-gate]}}
  - {name: hold, suspend: {}}
  - {name: publish, container: {image: x, command: [python, -m, argosy.steps], args: [publish, --manifest=]}}
"""


@pytest.fixture
def pin():
    def make(md5="a", path="data/digits"):
        source = {"path": path, "hash": f"{md5 * 32}.dir", "remote": {"name": "store", "url": "dvc-remote"}}
        return Pin.model_validate({"dataset": path, "revision": "c" * 40, "sources": [source]})

    return make


@pytest.fixture
def verdict():
    def make(estimate=0.95, answer=Answer.PASS, metric="accuracy"):
        return Verdict(
            gate="accuracy-gate",
            answer=answer,
            metric=metric,
            estimate=estimate,
            bound=estimate,
            threshold=0.9,
            margin=None,
            confidence=0.95,
            samples=450,
            reason="",
        )

    return make


@pytest.fixture
def recipe(pin, verdict):
    def make(**other):
        fields = {
            "registered_model": "digits",
            "version": 3,
            "run": "digits-1",
            "run_uid": "u",
            "task": "a:B",
            "revision": "c" * 40,
            "dataset": "data/digits",
            "dataset_hash": pin().hash,
            "dataset_pin": pin().model_dump_json(),
            "image": "x",
            "parameters": {"epochs": "3"},
            "model_hash": "e" * 64,
            "training": {"loss": 0.1},
            "verdicts": {"accuracy-gate": verdict()},
            "machine": "a machine",
            "packages": {"torch": "2.9"},
            "manifest": MANIFEST,
        }
        return Recipe.model_validate({**fields, **other})

    return make
