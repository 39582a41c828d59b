"""Values given to a pipeline are held against its nouns before anything runs."""

import pytest

from argosy.steps.pins import Pin, PinnedSource, Remote

PIPELINE = """
from argosy.pipelines import Accuracy, CustomGate, Dataset, Latency, Pipeline, Registry, Training
from argosy.steps.digits_hyperparameters import DigitsHyperparameters

digits = Pipeline(
    name="digits",
    dataset=Dataset("data"),
    training=Training(task="argosy.steps.digits:Digits", hyperparameters=DigitsHyperparameters()),
    gates=[
        Accuracy(at_least=0.9),
        Latency(quantile=0.9, at_most_ms=50),
        CustomGate(function="argosy.steps.values:encode", at_most=0.1),
    ],
    registry=Registry("digits"),
    image="image",
)
"""
WORKFLOW = PIPELINE + "workflow = digits.workflow()\n"

UNFIT = {
    "accuracy-at-least=2": "2 is not below 1; give the share of samples",
    "accuracy-at-least=nan": "'nan' is not finite; give the share",
    "custom-at-most=abc": "'abc' is no number; give the value",
    "latency-at-most-ms=0": "0 is not above 0; give the milliseconds",
    "latency-at-most-ms=abc": "'abc' is no number; give the milliseconds",
    "epochs=abc": "'abc' is no whole number; give the passes",
    "epochs=0": "0 is below 1; give the passes",
    "epochs=-1": "-1 is below 1; give the passes",
    "epochs=1.5": "1.5 is no whole number; give the passes",
    "learning-rate=nan": "'nan' is not finite; give the AdamW's step size",
    "seed=-1": "-1 is below 0; give the seed",
}


@pytest.fixture
def run(argosy, project):
    (project / "data.dvc").write_text("outs:\n- md5: 79201b5a2b83bf704d801556482e197a\n  path: data\n")

    def call(text, *values):
        (project / "digits.py").write_text(text)
        return argosy("run", "digits", *[word for value in values for word in ("-p", value)])

    return call


def test_a_dataset_that_dvc_does_not_know_is_told_before_anything_runs(run, project):
    done = run(PIPELINE, "dataset=date")
    assert done.returncode == 2
    assert "argosy: date: no DVC file in " in done.stderr
    assert not (project / ".argosy").exists()


@pytest.mark.parametrize(("value", "told"), UNFIT.items())
def test_a_value_that_its_step_would_refuse_is_told_at_once_and_makes_no_run(run, project, value, told):
    done = run(PIPELINE, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"argosy: -p {value.partition('=')[0]}: {told}")
    assert done.stderr.count("\n") == 1
    assert not (project / ".argosy").exists()


def test_all_unfit_values_are_told_at_once_also_of_a_workflow_made_of_a_pipeline(run):
    done = run(WORKFLOW, "epochs=0", "seed=x")
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [" -p seed", " -p epochs"]


def test_a_value_that_its_step_takes_is_not_refused(run, project):
    source = PinnedSource(path="data", hash="0" * 32, remote=Remote(name="store", url="nowhere"))
    pin = Pin(dataset="data", revision="", sources=(source,)).model_dump_json()
    values = ["accuracy-at-least=.9", "learning-rate=1e-3", "epochs=3", "seed=7", "dataset=data", f"dataset-pin={pin}"]
    assert run(PIPELINE, *values).returncode == 1
    assert (project / ".argosy").exists()


def test_the_users_own_rules_among_hyperparameters_hold_too(run):
    own = """
from pydantic import model_validator
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
class Own(DigitsHyperparameters):
    @model_validator(mode="after")
    def _fits(self):
        if self.epochs > self.batch_size:
            raise ValueError("epochs are more than batch_size; give fewer")
        return self
"""
    text = (
        PIPELINE.replace("\ndigits =", f"{own}\ndigits =")
        .replace("=DigitsHyper", "=Own")
        .replace("Ownparameters()", "Own()")
    )
    done = run(text, "epochs=100")
    assert done.stderr == "argosy: Own: epochs are more than batch_size; give fewer\n"
