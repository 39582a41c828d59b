"""`argosy gate plan`: what is asked of the statistics for each gate, and what a person is told."""

import io
import json
import tarfile

import pytest

from argosy.pipelines import (
    Accuracy,
    CustomGate,
    Latency,
    Memory,
    ModelSize,
    NotWorseThanChampion,
    Parity,
    Slices,
)
from argosy.pipelines.commands import gate as command
from argosy.pipelines.commands.mistake import Mistake
from argosy.pipelines.load import load
from argosy.pipelines.planning import Expectations, NothingToPlan, question
from argosy.pipelines.views.plan import table

KNOWN = Expectations(power=0.8, samples={"test": 360})
PIPELINE = """
from argosy.pipelines import (
    Accuracy, Dataset, Latency, Memory, NotWorseThanChampion, Pipeline, Registry, Training
)

pipeline = Pipeline(
    name="digits", dataset=Dataset("data/digits"), training=Training(task="tasks:Digits"), image="digits:1",
    gates=[Accuracy(at_least=0.9), NotWorseThanChampion(margin=0.02), Memory(at_most_mib=99)],
    registry=Registry("digits"),
)
"""


@pytest.fixture
def project(project):
    """With a pipeline."""
    (project / "digits.py").write_text(PIPELINE)
    return project


# ---------------------------------------------------------------------------------------------- the question


def test_a_gate_is_asked_about_with_its_own_settings():
    gate = Accuracy(at_least=0.9, confidence=0.99, samples=100, looks=2)
    assert question(gate, KNOWN) == {
        "gate": "accuracy", "threshold": 0.9, "expected": 0.95, "confidence": 0.99, "power": 0.8,
        "samples": 100, "looks": 2, "available": 360,
    }  # fmt: skip


def test_samples_of_the_gates_own_split_count():
    known = Expectations(power=0.8, samples={"test": 360, "validation": 90})
    assert question(Accuracy(at_least=0.9, split="validation"), known)["available"] == 90
    assert question(Accuracy(at_least=0.9, split="train"), known)["available"] == 0


def test_what_is_expected_of_one_gate_goes_before_what_is_expected_of_all():
    known = Expectations(power=0.8, value=0.97, values={"hard-gate": 0.8})
    assert question(Accuracy(at_least=0.9), known)["expected"] == 0.97
    assert question(Accuracy(at_least=0.7, name="hard-gate"), known)["expected"] == 0.8


def test_an_equal_champion_is_expected_and_its_margin_lies_below():
    asked = question(NotWorseThanChampion(margin=0.02), KNOWN)
    assert (asked["gate"], asked["threshold"], asked["expected"], asked["differing"]) == ("champion", -0.02, 0, 0.1)


def test_of_requests_the_share_within_the_limit_is_planned():
    asked = question(Latency(quantile=0.99, at_most_ms=5, requests=500, looks=2), KNOWN)
    assert (asked["gate"], asked["threshold"], asked["available"]) == ("latency", 0.99, 1000)
    assert asked["expected"] == pytest.approx(0.995)


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        (Memory(at_most_mib=9), "measures the model itself"),
        (ModelSize(at_most_mib=9), "measures the model itself"),
        (Parity(at_most=0), "measures the model itself"),
        (CustomGate(function="a:b", at_most=1), "measures the model itself"),
        (Accuracy(metric="f1", at_least=0.9), "f1 is no share: --spread tells"),
        (Slices(by="ward", at_least=0.9), "--slices tells it"),
        (Accuracy(at_least=0.9, cluster="patient"), "samples of one patient are not independent: --cluster-size"),
    ],
)
def test_where_nothing_can_be_planned_the_reason_is_told(gate, reason):
    with pytest.raises(NothingToPlan, match=reason):
        question(gate, KNOWN)


def test_clusters_are_asked_about_where_a_gate_has_them():
    known = Expectations(power=0.8, cluster_size=7.5, correlation=0.2)
    asked = question(Accuracy(at_least=0.9, cluster="patient"), known)
    assert (asked["cluster_size"], asked["correlation"]) == (7.5, 0.2)
    assert "cluster_size" not in question(Accuracy(at_least=0.9), known)


def test_spread_and_slices_make_a_plan_possible():
    known = Expectations(power=0.8, spread=0.3, slices=4)
    assert question(Accuracy(metric="f1", at_least=0.9), known)["spread"] == 0.3
    assert question(Slices(by="ward", at_least=0.9), known)["slices"] == 4
    assert "spread" not in question(Accuracy(at_least=0.9), known)


# ---------------------------------------------------------------------------------------------- the command


def test_the_plan_is_a_row_for_each_gate_and_a_word_on_each(argosy, project):
    done = argosy("gate", "plan", "--samples", "360", "--power", "0.9")
    assert done.returncode == 0, done.stderr
    head, accuracy, champion, _, *notes = done.stdout.splitlines()
    assert head.split("  ")[0] == "GATE"
    assert "90 % PASS FROM" in head
    assert accuracy.split()[:4] == ["accuracy-gate", "0.9", "0.95", "29"]
    assert champion.split()[:3] == ["champion-gate", "-0.02", "0"]
    assert notes[-1] == "memory-gate: measures the model itself: it needs no samples"
    assert (project / ".argosy").exists() is False


def test_the_plan_as_json_holds_what_the_gates_decide_with(argosy):
    words = ["digits", "--samples", "360", "--expect", "0.97", "--expect", "champion-gate=0.01", "--json"]
    told = json.loads(argosy("gate", "plan", *words).stdout)
    accuracy, champion, memory = told["gates"]
    assert (told["pipeline"], told["power"]) == ("digits", 0.8)
    assert (accuracy["expected"], accuracy["fewest"], accuracy["samples"]) == (0.97, 29, [360])
    assert champion["expected"] == 0.01
    assert memory == {"name": "memory-gate", "note": "measures the model itself: it needs no samples"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["digits", "--expect", "best"], "--expect best: 'best' is no number; write 0.95, or accuracy-gate=0.95"),
        (["digits", "--expect", "nan"], "--expect nan: 'nan' is no number"),
        (["digits", "--spread", "nan"], "Invalid value for '--spread': 'nan' is no finite number"),
        (["digits", "--power", "nan"], "Invalid value for '--power': 'nan' is no finite number"),
        (["digits", "--expect", "acuracy-gate=1"], "there is no gate 'acuracy-gate'; did you mean accuracy-gate?"),
        (["greeting.yaml"], "greeting.yaml holds no Pipeline, and so no gates"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(argosy, words, message):
    done = argosy("gate", "plan", *words)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.usefixtures("project")
def test_of_several_pipelines_one_must_be_named(project):
    (project / "letters.py").write_text(PIPELINE)
    with pytest.raises(Mistake, match=r"name the pipeline: .* has digits, letters"):
        command._pipeline(None)


def test_samples_are_counted_in_the_staged_data(project, monkeypatch):
    staged = project / "staged"
    staged.mkdir()
    with tarfile.open(staged / "test-000000.tar", "w") as shard:
        for number in range(7):
            member = tarfile.TarInfo(f"{number:04}.cls")
            member.size = 1
            shard.addfile(member, io.BytesIO(b"1"))
    monkeypatch.setattr(command, "_staged", lambda _: staged)
    assert command._samples(load(project / "digits.py").pipeline, None) == {"test": 7}


def test_where_nothing_is_staged_that_is_said_and_the_plan_goes_on(project, capsys):
    assert command._samples(load(project / "digits.py").pipeline, None) == {}
    assert capsys.readouterr().err == (
        "how many samples there are is not known: no data is staged here; --samples tells it\n"
    )


def test_what_is_not_known_is_a_dash():
    gate = {"name": "a-gate", "note": "n", "threshold": 0.9, "expected": 0.95, "fewest": 29, "needed": None}
    row = table([{**gate, "samples": [], "power": None}], 0.8).splitlines()[1]
    assert row.split() == ["a-gate", "0.9", "0.95", "29", "-", "-", "-"]
