"""The three gates on a real exported model, real shards and the reference task.

The model predicts the digit that an image's first pixel says, so that a test decides how often it is right.
"""

import hashlib
import pickle
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest
import torch

from argosy.steps import digits_data, exported_model, files
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version
from argosy.steps.contracts import ExitCode
from argosy.steps.digits import Digits
from argosy.steps.errors import StepError
from argosy.steps.gate import accuracy, custom, latency, memory, slices
from argosy.steps.gate.exported import load
from argosy.steps.gate.requests import DISTINCT_SAMPLES, requests
from argosy.steps.gate.verdict import Measurement
from argosy.steps.gates import AccuracyInput, CustomInput, LatencyInput, MemoryInput, SlicesInput
from argosy.steps.pod import described
from argosy.steps.train.export import export

TASK = "argosy.steps.digits:Digits"
HASH = "0123456789abcdef0123456789abcdef"
NO_NUMBER = 11


class FirstPixel(torch.nn.Module):
    def forward(self, images):
        value = images[:, 0, 0, :1] * 16
        logits = -((value - torch.arange(10)) ** 2)
        return torch.where(value == NO_NUMBER, torch.nan, logits)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    store = tmp_path_factory.mktemp("models")
    (store / "run").mkdir()
    model, sample = FirstPixel(), torch.zeros(1, 8, 8)
    export(model, sample, store / "run/model", task=TASK, hyperparameters={}, training={})
    return store


@pytest.fixture
def judged(models, tmp_path):
    """What every gate takes, for a test split of samples given as (first pixel, digit, more pixels)."""

    def inputs(samples):
        (tmp_path / "out").mkdir(exist_ok=True)
        data = [(i, bytes([pixel, *more]).ljust(64, b"\0"), digit) for i, (pixel, digit, *more) in enumerate(samples)]
        digits_data.write_shard(tmp_path / "shard", data)
        shard = (tmp_path / "shard").read_bytes()
        md5, cache = hashlib.md5(shard).hexdigest(), NodeCache(tmp_path)
        with cache.staging(HASH):
            cache.blobs.add(md5, shard)
            cache.publish(
                HASH, Version(dataset="d", dataset_hash=HASH, revision=""), [Entry("test-0.tar", md5)], xxh3={}
            )
        return {
            "output": tmp_path / "out",
            "task": TASK,
            "cache": tmp_path,
            "dataset_hash": HASH,
            "models": models,
            "model": "run/model",
            "model_hash": files.sha256(models / "run/model" / exported_model.PROGRAM),
            "gate": "g",
            "confidence": 0.95,
        }

    return inputs


RIGHT, WRONG = (3, 3), (3, 4)


@pytest.mark.parametrize(
    ("at_least", "answer"), [(0.90, "pass"), (0.95, "inconclusive"), (0.96, "inconclusive"), (0.99, "fail")]
)
def test_accuracy_counts_every_sample_and_decides_on_the_bound(judged, at_least, answer):
    inputs = AccuracyInput(**judged([RIGHT] * 570 + [WRONG] * 30), at_least=at_least)
    gate = accuracy.run(inputs)
    assert gate.answer == gate.verdict.answer == answer
    assert (gate.verdict.estimate, gate.verdict.samples) == (0.95, 600)
    assert gate.summary.startswith(f"{answer}: accuracy 0.95 (")


def test_one_output_that_is_not_finite_fails_however_good_the_rest(judged):
    gate = accuracy.run(AccuracyInput(**judged([RIGHT] * 599 + [(NO_NUMBER, 3)]), at_least=0.5))
    assert gate.answer == "fail"
    assert gate.verdict.estimate is None
    assert gate.verdict.reason == "accuracy is not finite, outputs of 1 of 600 samples hold NaN or infinity"


def test_requests_are_a_random_part_of_a_split_that_is_sorted(judged):
    inputs = MemoryInput(**judged([(3, 3)] * DISTINCT_SAMPLES + [(5, 5)] * DISTINCT_SAMPLES), at_most_mib=1000)
    asked = requests(load(inputs), inputs, batch_size=DISTINCT_SAMPLES)
    first_pixels = (next(asked)[:, 0, 0, 0] * 16).round().tolist()
    assert 0.4 < first_pixels.count(3) / DISTINCT_SAMPLES < 0.6
    assert set(first_pixels) == {3, 5}


@pytest.mark.parametrize(("gate", "kind"), [(accuracy, AccuracyInput), (latency, LatencyInput), (memory, MemoryInput)])
def test_a_split_without_samples_is_no_verdict_but_a_fault_of_the_data(judged, gate, kind):
    thresholds = {"at_least": 0.5, "quantile": 0.5, "at_most_ms": 1, "at_most_mib": 1}
    own = {name: value for name, value in thresholds.items() if name in kind.model_fields}
    with pytest.raises(StepError, match=r"test-0\.tar: holds no samples") as caught:
        gate.run(kind(**judged([]), **own))
    assert caught.value.exit_code == ExitCode.DATA


def test_a_model_that_changed_after_training_is_not_judged(judged):
    inputs = AccuracyInput(**judged([RIGHT]) | {"model_hash": "f" * 64}, at_least=0.5)
    with pytest.raises(StepError, match="it changed after training") as caught:
        accuracy.run(inputs)
    assert caught.value.exit_code == ExitCode.DATA


def test_a_model_that_is_missing_is_named(judged):
    inputs = AccuracyInput(**judged([RIGHT]) | {"model": "other/model"}, at_least=0.5)
    with pytest.raises(StepError, match=r"other/model/model\.json: is missing") as caught:
        accuracy.run(inputs)
    assert caught.value.exit_code == ExitCode.DATA


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_code_inside_an_exported_model_is_never_run(judged, tmp_path):
    given, mark = judged([RIGHT]), tmp_path / "executed"
    folder = tmp_path / "store/model"
    folder.mkdir(parents=True)
    evil = folder / exported_model.PROGRAM
    good = given["models"] / "run/model"
    with zipfile.ZipFile(good / exported_model.PROGRAM) as source, zipfile.ZipFile(evil, "w") as target:
        for name in source.namelist():
            inputs = name.endswith("sample_inputs/model.pt")
            target.writestr(name, pickle.dumps(Touch(mark)) if inputs else source.read(name))
    (folder / exported_model.CARD).write_bytes((good / exported_model.CARD).read_bytes())
    changed = {"models": tmp_path / "store", "model": "model", "model_hash": files.sha256(evil)}
    with pytest.raises(StepError, match="torch cannot load it"):
        accuracy.run(AccuracyInput(**given | changed, at_least=0.5))
    assert not mark.exists()


def test_without_a_visible_gpu_a_gate_for_one_judges_nothing(judged, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(StepError, match="no GPU is visible") as caught:
        memory.run(MemoryInput(**judged([RIGHT]), gpus=1, at_most_mib=1000))
    assert caught.value.exit_code == ExitCode.CONFIGURATION


# ---------------------------------------------------------------------------------------------- latency


@pytest.mark.parametrize(("at_most_ms", "answer"), [(10_000, "pass"), (1e-6, "fail")])
def test_latency_of_a_real_model_is_judged_on_its_bounds(judged, at_most_ms, answer):
    inputs = LatencyInput(**judged([RIGHT] * 5), quantile=0.9, at_most_ms=at_most_ms, requests=100, batch_size=2)
    threads = torch.get_num_threads()
    gate = latency.run(inputs)
    assert gate.answer == answer
    assert gate.verdict.metric == "p90 latency ms"
    assert "n = 100 requests of 2 on 1 thread, after " in gate.verdict.reason
    assert torch.get_num_threads() == threads


def test_too_few_requests_are_inconclusive_and_the_number_needed_is_said(judged):
    gate = latency.run(LatencyInput(**judged([RIGHT]), quantile=0.99, at_most_ms=10_000, requests=298))
    assert gate.answer == "inconclusive"
    assert gate.verdict.bound is None
    assert gate.verdict.reason.endswith("; an upper bound needs 299 requests")


# ---------------------------------------------------------------------------------------------- metrics and slices


class Patients(Digits):
    """The second and the third pixel are the patient."""

    def labels(self, members):
        pixels = members["pixels"]
        return {"patient": str(pixels[1] + 17 * pixels[2]), "age": pixels[1]}

    def closeness(self, outputs, targets):
        return 1 - (outputs.argmax(dim=1) - targets).abs() / 10

    def f1(self, outputs, targets):
        found, wanted = outputs.argmax(dim=1) == 3, targets == 3
        return 2 * (found & wanted).sum() / (found.sum() + wanted.sum())

    def counted(self, outputs, targets):
        return (outputs.argmax(dim=1) == targets).sum()

    def unbounded(self, _, targets):
        return torch.where(targets == 4, torch.inf, 1.0)


@pytest.fixture
def patients(judged, monkeypatch):
    """What a gate takes for a split whose samples are (first pixel, digit, patient)."""
    module = types.ModuleType("gate_tasks")
    module.Patients = Patients
    monkeypatch.setitem(sys.modules, "gate_tasks", module)
    return lambda samples: judged(samples) | {"task": "gate_tasks:Patients"}


def test_looks_take_more_samples_only_while_those_cannot_tell(judged):
    given = judged([RIGHT] * 570 + [WRONG] * 30) | {"samples": 100, "looks": 3}
    first = accuracy.run(AccuracyInput(**given, at_least=0.5)).verdict
    assert (first.answer, first.samples, first.looks) == ("pass", 100, 1)
    last = accuracy.run(AccuracyInput(**given, at_least=0.95)).verdict
    assert (last.answer, last.samples, last.looks) == ("inconclusive", 400, 3)
    assert "at 95 % over 3 looks" in last.reason


def test_the_first_samples_of_a_sorted_split_are_a_fair_part_of_it(judged):
    given = judged([RIGHT] * 300 + [WRONG] * 300) | {"samples": 200, "looks": 2}
    assert accuracy.run(AccuracyInput(**given, at_least=0.9)).verdict.estimate == pytest.approx(0.5, abs=0.12)


def test_a_metric_of_scores_is_their_mean(patients):
    given = patients([(3, 3, 0)] * 50 + [(3, 5, 0)] * 50)
    verdict = accuracy.run(AccuracyInput(**given, metric="closeness", at_least=0.85)).verdict
    assert (verdict.answer, verdict.metric) == ("pass", "closeness")
    assert verdict.estimate == pytest.approx(0.9)
    assert verdict.method == "studentised bootstrap of 100 samples"


def test_a_metric_of_all_predictions_is_computed_from_all_of_them(patients):
    given = patients([(3, 3, 0)] * 60 + [(4, 3, 0)] * 20 + [(3, 4, 0)] * 20 + [(5, 5, 0)] * 300)
    verdict = accuracy.run(AccuracyInput(**given, metric="f1", at_least=0.6)).verdict
    assert verdict.estimate == pytest.approx(0.75)
    assert 0.65 < verdict.bound < 0.72
    assert verdict.method == "bootstrap (BCa) of 400 samples"


def test_perfect_predictions_give_a_metric_of_all_no_bound(patients):
    verdict = accuracy.run(AccuracyInput(**patients([(3, 3, 0)] * 100), metric="f1", at_least=0.6)).verdict
    assert (verdict.answer, verdict.bound) == ("inconclusive", None)
    assert verdict.reason.endswith("; a bound needs predictions that are not all alike")


def test_a_score_that_is_not_finite_fails_the_model(patients):
    given = patients([(3, 3, 0)] * 99 + [(3, 4, 0)])
    verdict = accuracy.run(AccuracyInput(**given, metric="unbounded", at_least=0)).verdict
    assert verdict.answer == "fail"
    assert "not finite" in verdict.reason


def test_clusters_widen_the_bounds_and_few_of_them_tell_nothing(patients):
    samples = [(3, 3 + (patient % 8 == 0), patient % 17, patient // 17) for patient in range(40) for _ in range(15)]
    given = patients(samples) | {"at_least": 0.8}
    alone = accuracy.run(AccuracyInput(**given)).verdict
    together = accuracy.run(AccuracyInput(**given, cluster="patient")).verdict
    assert (alone.answer, together.answer) == ("pass", "inconclusive")
    assert alone.estimate == together.estimate == pytest.approx(0.875)
    assert "n = 600 in 40 of patient" in together.reason


def test_of_few_clusters_nothing_is_claimed_however_good_they_are(patients):
    given = patients([(3, 3 + (number == 0), number % 19 % 17, number % 19 // 17) for number in range(190)])
    few = accuracy.run(AccuracyInput(**given, cluster="patient", at_least=0.1)).verdict
    assert (few.answer, few.bound) == ("inconclusive", None)
    assert few.reason.endswith("; a bound needs 20 clusters of samples, and there are 19")


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"metric": "closenes"}, ExitCode.CONFIGURATION, "Patients has no method closenes, .* did you mean closeness"),
        ({"metric": "counted"}, ExitCode.CODE, r"counted\(\) .* gave torch.int64 of shape \(\); it must give floating"),
        ({"cluster": "patients"}, ExitCode.CONFIGURATION, r"labels\(\) .* has no label patients; did you mean patient"),
        ({"cluster": "age"}, ExitCode.CODE, r"labels\(\) .* gave age of type int; it must give a mapping"),
        (
            {"cluster": "x", "task": TASK},
            ExitCode.CONFIGURATION,
            "Digits has no method labels, which the label x needs",
        ),
    ],
)
def test_a_metric_or_label_that_is_not_there_is_named_with_its_place(patients, changes, code, words):
    with pytest.raises(StepError, match=words) as caught:
        accuracy.run(AccuracyInput(**patients([(3, 3, 0)] * 30) | changes, at_least=0.5))
    assert caught.value.exit_code == code


def test_one_bad_slice_fails_a_model_that_is_good_on_the_whole(patients):
    good = [(3, 3, patient) for patient in (1, 2, 3) for _ in range(200)]
    bad = [(3, 3 + (number % 2), 4) for number in range(100)]
    given = patients([*good, *bad, *[(3, 4, 5)] * 29])
    assert accuracy.run(AccuracyInput(**given, at_least=0.8)).answer == "pass"
    verdict = slices.run(SlicesInput(**given, at_least=0.8, by="patient")).verdict
    assert verdict.answer == "fail"
    assert (verdict.metric, verdict.estimate, verdict.samples) == ("accuracy of the worst patient", 0.5, 700)
    assert [(part.name, part.answer, part.samples) for part in verdict.parts] == [
        *(("4", "fail", 100), ("1", "pass", 200), ("2", "pass", 200), ("3", "pass", 200))
    ]
    assert "not judged, having fewer than 30 samples: 5" in verdict.reason
    page = (given["output"] / "report.html").read_text()
    assert "Slices, the worst first" in page
    assert page.count("<circle") == 5


def test_slices_without_support_are_no_reason_to_pass(patients):
    verdict = slices.run(SlicesInput(**patients([(3, 3, 1)] * 29), at_least=0.1, by="patient")).verdict
    assert (verdict.answer, verdict.bound, verdict.parts) == ("inconclusive", None, ())


def test_a_slice_without_support_cannot_be_passed_by_while_more_of_it_may_be_seen(patients):
    bad = [(3, 3 + (number % 4 > 0), 2) for number in range(80)]
    given = patients([(3, 3, 1)] * 720 + bad) | {"at_least": 0.8, "by": "patient", "samples": 100}
    once = slices.run(SlicesInput(**given | {"support": 30}, looks=1)).verdict
    assert (once.answer, once.samples < 100) == ("pass", True)
    often = slices.run(SlicesInput(**given | {"support": 30}, looks=4)).verdict
    assert (often.answer, often.parts[0].name) == ("fail", "2")


def test_a_metric_that_is_no_number_for_a_slice_fails_and_its_report_is_whole(patients):
    given = patients([(3, 3, 1), (5, 5, 1)] * 50 + [(5, 5, 2)] * 40)
    verdict = slices.run(SlicesInput(**given, metric="f1", at_least=0.1, by="patient")).verdict
    assert verdict.answer == "fail"
    assert "f1 of the worst patient is not finite" in verdict.reason
    assert (verdict.parts[0].name, verdict.parts[0].answer, verdict.parts[0].estimate) == ("2", "fail", None)
    assert '"nan"' not in (given["output"] / "report.html").read_text()


def test_a_metric_that_lacks_samples_to_be_a_number_gets_those_that_are_planned(patients):
    given = patients([(5, 5, 0)] * 550 + [(3, 3, 0), (4, 3, 0)] * 5)
    first = accuracy.run(AccuracyInput(**given, metric="f1", at_least=0.1, samples=2)).verdict
    assert (first.answer, first.estimate) == ("fail", None)
    more = accuracy.run(AccuracyInput(**given, metric="f1", at_least=0.1, samples=2, looks=10)).verdict
    assert more.estimate == pytest.approx(2 / 3, abs=0.1)


def test_slices_of_a_broken_model_fail(patients):
    given = patients([(3, 3, 1)] * 99 + [(NO_NUMBER, 3, 2)])
    verdict = slices.run(SlicesInput(**given, at_least=0.1, by="patient")).verdict
    assert verdict.answer == "fail"
    assert "not finite, outputs of 1 of 100 samples hold NaN" in verdict.reason


# ---------------------------------------------------------------------------------------------- the user's own


def largest(judged):
    batch = judged.samples("test").inputs
    value = float(judged.request(batch).max())
    return Measurement("largest output", "", value, value, value, len(batch), f"by {type(judged.task).__name__}")


def broken(judged):
    raise KeyError(judged.confidence)


@pytest.fixture
def own(judged, monkeypatch):
    def run(function, **changes):
        module = types.ModuleType("gate_functions")
        module.chosen = function
        monkeypatch.setitem(sys.modules, "gate_functions", module)
        given = judged([RIGHT] * 5) | {"function": "gate_functions:chosen", "threshold": 0.5, "direction": "at-most"}
        return custom.run(CustomInput(**given | changes))

    return run


def test_the_users_own_measurement_is_judged_like_any_other(own):
    assert own(largest).verdict.reason.endswith("keeps within 0.5, by Digits")
    assert own(largest, direction="at-least").answer == "fail"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Measurement("x", "", None, 1, 2, 3, ""), "gave a Measurement with what is no number: "),
        (Measurement("x", "", torch.ones(2), 1, 2, 3, ""), "gave a Measurement with what is no number: "),
        (Measurement("x", "", 1, "low", 2, 3, ""), "gave a Measurement with what is no number: "),
        (Measurement("x", "", 1, 2, 0.5, 3, ""), "whose lower bound 2 is above its upper bound 0.5"),
    ],
)
def test_a_measurement_that_cannot_be_judged_is_told_with_its_place(own, given, words):
    with pytest.raises(StepError, match=words) as caught:
        own(lambda _: given)
    assert caught.value.exit_code == ExitCode.CODE


def test_a_measurement_may_hold_the_numbers_of_any_library(own):
    value = torch.tensor(0.25)
    given = Measurement("x", "", value, value.numpy(), value, value.new_tensor(4).int(), "of tensors")
    assert own(lambda _: given).verdict.estimate == 0.25


def test_the_first_samples_that_the_users_own_gate_asks_for_are_a_fair_part_of_a_sorted_split(judged, own):
    given = judged([RIGHT] * 300 + [WRONG] * 300)

    def first_targets(about):
        value = float((about.samples("test", 200).targets == RIGHT[1]).double().mean())
        return Measurement("share", "", value, value, value, 200, "")

    assert own(first_targets, **given).verdict.estimate == pytest.approx(0.5, abs=0.12)


def test_what_the_users_own_gate_gives_or_raises_is_told_with_its_place(own):
    with pytest.raises(StepError, match="gave int; it must give a Measurement") as caught:
        own(lambda _: 3)
    assert caught.value.exit_code == ExitCode.CODE
    with pytest.raises(StepError, match="is no function"):
        own(3)
    with pytest.raises(KeyError) as raised:
        own(broken)
    assert f"({__file__}:{broken.__code__.co_firstlineno + 1})" in described(raised.value)


# ---------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize(("at_most_mib", "answer"), [(100_000, "pass"), (1, "fail")])
def test_memory_is_a_maximum_and_so_decides_without_a_spread(judged, at_most_mib, answer):
    gate = memory.run(MemoryInput(**judged([RIGHT]), at_most_mib=at_most_mib, requests=3))
    verdict = gate.verdict
    assert gate.answer == answer
    assert verdict.bound == verdict.estimate > 1
    assert "over loading and 3 requests of 1" in verdict.reason


PEAK = """
import sys
from argosy.steps.gate.device import Cpu
before = Cpu().peak_bytes()
held = bytearray(200 << 20)
del held
print(before, Cpu().peak_bytes())
"""


def test_the_peak_is_this_processs_own_and_outlives_what_was_held():
    ours = bytearray(700 << 20)  # a parent's memory must not count
    out = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True).stdout
    before, after = (int(word) for word in out.split())
    assert after - before == pytest.approx(200 << 20, rel=0.05)
    assert before < len(ours)


def test_a_gate_needs_neither_mlflow_nor_dvc():
    code = (
        "import sys, argosy.steps.gate.accuracy, argosy.steps.gate.latency, argosy.steps.gate.memory;"
        "print({'mlflow', 'dvc', 'hera'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"
