"""The three gates on a real exported model, real shards and the reference task.

The model predicts the digit that an image's first pixel says, so that a test decides how often it is right.
"""

import hashlib
import pickle
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
import torch

from argosy.steps import digits_data, exported_model, files
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gate import accuracy, latency, memory
from argosy.steps.gate.device import Cpu
from argosy.steps.gate.requests import batches
from argosy.steps.gates import AccuracyInput, LatencyInput, MemoryInput
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
    """What every gate takes, for a test split of samples given as (first pixel, digit)."""

    def inputs(samples):
        (tmp_path / "out").mkdir(exist_ok=True)
        data = [(i, bytes([pixel]) + bytes(63), digit) for i, (pixel, digit) in enumerate(samples)]
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


class LateDevice:
    """Finishes 20 ms after the call has returned."""

    name = "late"

    def __init__(self):
        self.finished = threading.Event()

    def request(self):
        self.finished.clear()
        threading.Timer(0.020, self.finished.set).start()

    def synchronise(self):
        self.finished.wait()

    def peak_bytes(self):
        raise NotImplementedError


def test_a_device_that_finishes_after_the_call_is_waited_for():
    device = LateDevice()
    assert min(latency.timed(device.request, device, 5).ascending_ms) >= 20


class FirstCallsPay:
    """A clock on which the first request takes a second and every other ten milliseconds."""

    def __init__(self, slow):
        self.now, self.calls, self.slow = 0, 0, slow

    def request(self):
        self.calls += 1
        self.now += 1_000_000_000 if self.calls <= self.slow else 10_000_000


@pytest.mark.parametrize(("slow", "warm_ups"), [(1, 20), (8, 30)])
def test_first_calls_that_are_slow_are_counted_as_warm_up_and_not_measured(slow, warm_ups):
    server = FirstCallsPay(slow)
    timing = latency.timed(server.request, Cpu(), 50, clock=lambda: server.now)
    assert timing.ascending_ms == [10.0] * 50
    assert timing.warm_ups == warm_ups
    assert server.calls == warm_ups + 50


def test_a_request_that_never_settles_is_warmed_up_for_a_bounded_time():
    server = FirstCallsPay(slow=0)

    def ever_slower():
        server.calls += 1
        server.now += 2 ** (server.calls // 10)

    timing = latency.timed(ever_slower, Cpu(), 1, clock=lambda: server.now)
    assert timing.warm_ups == latency.WARM_UP_WINDOW * latency.WARM_UP_WINDOWS_AT_MOST


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_every_request_is_a_full_batch_and_every_sample_is_asked_about(size):
    made = batches(torch.arange(7), size)
    assert {len(batch) for batch in made} == {size}
    assert set(torch.cat(made).tolist()) == set(range(7))


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
