"""What gates cost beside what they judge: bare forward passes, and a bare timing loop. All in this very process."""

import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import torch
from report import Comparison, Rival, Section
from timing import BenchmarkError, Figure
from torch import Tensor, nn

from argosy.steps import digits_data, exported_model, files, samples, serving
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version
from argosy.steps.digits import Digits
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from argosy.steps.gate import accuracy, latency
from argosy.steps.gate.requests import DISTINCT_SAMPLES, batches
from argosy.steps.gates import AccuracyInput, LatencyInput
from argosy.steps.train.export import export

ROUNDS = 3
SAMPLES, BATCH, REQUESTS = (2048, 8192), 256, 500
LOOPS = 4
"""Times that a round measures the latency both ways."""
DATASET = "0123456789abcdef0123456789abcdef"
TASK = "argosy.steps.digits:Digits"
NOTES = f"""
- The accuracy gate verifies and loads the model, reads and decodes the samples, predicts, judges and writes its report.
  The bare passes are the same model's over the same samples, which are decoded already, {BATCH} at a time. Loading
  takes the gate the same time whatever the samples.
- The latencies are medians of {REQUESTS} requests of one sample on one thread, alternating {LOOPS} times in a round.
  The bare loop calls the program between two looks at the clock, and does nothing else.
"""


class Deep(nn.Module):
    """Some milliseconds a sample, as models have that are worth a gate."""

    def __init__(self) -> None:
        super().__init__()
        layers = [layer for _ in range(4) for layer in (nn.Conv2d(256, 256, 3, padding=1), nn.ReLU())]
        self._layers = nn.Sequential(nn.Conv2d(1, 256, 3, padding=1), *layers, nn.Flatten(), nn.Linear(256 * 64, 10))

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self._layers(images)
        return logits


@dataclass(frozen=True)
class Bench:
    folder: Path
    model: str
    inputs: Tensor
    """Of all samples."""

    def fields(self) -> dict[str, object]:
        """What every gate takes."""
        program = self.folder / self.model / exported_model.PROGRAM
        return {
            "output": self.folder, "task": TASK, "cache": self.folder, "dataset_hash": DATASET, "models": self.folder,
            "model": self.model, "model_hash": files.sha256(program), "gate": "gate", "confidence": 0.95,
        }  # fmt: skip

    def program(self) -> nn.Module:
        return serving.load_program(self.folder / self.model / exported_model.PROGRAM)


def measure(rounds: int) -> Section:
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as name:
        folder = Path(name)
        inputs = _staged(folder)
        deep, reference = (
            Bench(folder, _exported(folder, model, title), inputs)
            for title, model in (("deep", Deep()), ("digits", Digits(DigitsHyperparameters()).model()))
        )
        tables = [
            *(_accuracy(deep, count, rounds) for count in SAMPLES),
            _latency("p50 of a request, a model of milliseconds", deep, rounds),
            _latency("p50 of a request, the reference model", reference, rounds),
        ]
    return Section("gates", tables, NOTES)


def _staged(folder: Path) -> Tensor:
    """The test split, in the node's cache as the gates find it. Its inputs."""
    given = list(islice(cycle(digits_data.splits()["test"]), max(SAMPLES)))
    shard = folder / "shard"
    digits_data.write_shard(shard, [(number, pixels, digit) for number, (_, pixels, digit) in enumerate(given)])
    data, cache = shard.read_bytes(), NodeCache(folder)
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    with cache.staging(DATASET):
        cache.blobs.add(md5, data)
        version = Version(dataset="digits", dataset_hash=DATASET, revision="")
        cache.publish(DATASET, version, [Entry("test-0.tar", md5)], xxh3={})
    shard.rename(folder / "test-0.tar")
    return samples.load(Digits(DigitsHyperparameters()), folder, "test").inputs


def _exported(folder: Path, model: nn.Module, name: str) -> str:
    export(model, torch.rand(1, 8, 8), folder / name, task=TASK, hyperparameters={}, training={})
    return name


def _accuracy(bench: Bench, count: int, rounds: int) -> Comparison:
    given = AccuracyInput.model_validate({**bench.fields(), "at_least": 0.0, "samples": count})
    program, parts = bench.program(), torch.split(bench.inputs[:count], BATCH)
    gate, bare = _alternating(
        lambda: _seconds(lambda: accuracy.run(given)), lambda: _seconds(lambda: _passes(program, parts)), rounds
    )
    return Comparison(f"Accuracy of {count:,} samples", "the gate", gate, [Rival("bare forward passes", bare, 1.10)])


def _latency(title: str, bench: Bench, rounds: int) -> Comparison:
    given = LatencyInput.model_validate({**bench.fields(), "quantile": 0.5, "at_most_ms": 1000, "requests": REQUESTS})
    program, parts = bench.program(), batches(bench.inputs[:DISTINCT_SAMPLES], 1)
    threads = torch.get_num_threads()
    torch.set_num_threads(latency.THREADS)
    gate, bare = _alternating(lambda: _gate_median(given), lambda: _bare_median(program, parts), LOOPS * rounds)
    torch.set_num_threads(threads)
    return Comparison(title, "the gate", gate, [Rival("a bare timing loop", bare, 1.03)])


def _gate_median(given: LatencyInput) -> float:
    estimate = latency.run(given).verdict.estimate
    if estimate is None:
        raise BenchmarkError("the latency gate has measured nothing")
    return estimate / 1000


def _bare_median(program: nn.Module, parts: Sequence[Tensor]) -> float:
    taken = []
    with torch.inference_mode():
        for part in islice(cycle(parts), REQUESTS):
            begun = time.perf_counter()
            program(part)
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def _passes(program: nn.Module, parts: Sequence[Tensor]) -> None:
    with torch.inference_mode():
        for part in parts:
            program(part)


def _alternating(own: Callable[[], float], bare: Callable[[], float], rounds: int) -> tuple[Figure, Figure]:
    taken = []
    for number in range(rounds):
        taken.append((own(), bare()))
        print(f"  round {number + 1}/{rounds}  the gate {taken[-1][0]:.6f} s, bare {taken[-1][1]:.6f} s", flush=True)
    return Figure.of([one for one, _ in taken]), Figure.of([one for _, one in taken])


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
