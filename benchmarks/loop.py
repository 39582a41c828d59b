"""What argosy's supervisor and loop cost a step, beside the same training by plain torchrun; and how long a retry takes
to its first step.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import turns
from report import ROOT, Bound, Comparison, Rival, Section
from timing import LIMIT_SECONDS, BenchmarkError, Figure

ROUNDS = 5
RANKS = (1, 2)
BATCH_SIZE, EPOCHS = 64, 12
"""Of 1,168 samples: 19 steps an epoch, of some tens of milliseconds each."""
FIRST_STEPS = 12
"""Left out: what is made at the first use is made there."""
MOST = 1.01
NOTES = f"""
- A step of `benchmarks/loop_task.py`, batch {BATCH_SIZE} over all ranks on this machine's cores: the median of a \
training's {19 * EPOCHS - FIRST_STEPS} last steps, from one optimiser step's end to the next. In a round both are \
trained at once, but only one at a time is let go on, in turns of {turns.TURN_SECONDS:g} s.
- argosy is `python -m argosy.steps train` with its supervisor, its loader on staged shards, a checkpoint every ten \
seconds, and no MLflow. Plain torchrun runs `benchmarks/loop_plain.py`: through the same loader, but it keeps nothing, \
and never reads a loss.
- From start to first step is the time until a process says so, imports of torch included; argosy's is a retry after \
a kill -9, which verifies and loads its checkpoint.
"""


@dataclass(frozen=True)
class Trained:
    step_seconds: float
    """Median."""
    waited: float
    """Share of a step that goes into waiting for data; median."""
    session_seconds: float
    """Median that argosy's session took after a step: to agree with the other ranks, and to say how far it is."""


class Bench:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._project, self._cache = folder / "project", folder / "cache"
        self._runs = 0
        data = self._project / "data"
        data.parent.mkdir()
        _run([sys.executable, "-m", "argosy.steps.digits_data", str(data)], folder)
        dvc = [sys.executable, "-m", "dvc"]
        for words in (
            ["init", "--quiet", "--no-scm"],
            ["remote", "add", "--quiet", "--default", "store", str(folder / "remote")],
            ["add", "--quiet", "data"],
            ["push", "--quiet"],
        ):
            _run([*dvc, *words], self._project)
        fields = {"dataset": "data", "project": self._project, "cache": self._cache, "output": folder / "staged"}
        _run(_step("stage", fields), folder)
        self._hash = json.loads((folder / "staged" / "record.json").read_bytes())["dataset_hash"]

    def plain(self, ranks: int) -> list[str]:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        script = str(ROOT / "benchmarks" / "loop_plain.py")
        return [*torchrun, script, str(self._project / "data"), str(BATCH_SIZE), str(EPOCHS)]

    def argosy(self, ranks: int, run: str = "", every_seconds: float = 10) -> list[str]:
        """A new run, or the one of this name."""
        self._runs += 1
        fields = {
            "task": "loop_task:Wide",
            "cache": self._cache,
            "dataset-hash": self._hash,
            "models": self._folder / "models",
            "output": self._folder / "output",
            "run": run or f"run-{self._runs}",
            "ranks": ranks,
            "checkpoint-every-seconds": every_seconds,
            "checkpoints-kept": 2,
            "hyperparameters.batch-size": BATCH_SIZE,
            "hyperparameters.epochs": EPOCHS,
        }
        return _step("train", fields)

    def trained(self, ranks: int) -> tuple[Trained, Trained]:
        """By argosy, and by plain torchrun."""
        both = {"argosy": self.argosy(ranks), "plain": self.plain(ranks)}
        times = {name: self._folder / f"{name}.json" for name in both}
        turns.run([(words, _environment(ranks, times[name])) for name, words in both.items()], self._folder)
        return _trained(times["argosy"]), _trained(times["plain"])

    def seconds_until(self, words: Sequence[str], ranks: int, lines: int = 1) -> float:
        """From the process's start until it has said so many times that steps are made: then it is killed."""
        environment = _environment(ranks, self._folder / "killed.json")
        begun = time.perf_counter()
        with subprocess.Popen(
            words, cwd=self._folder, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            assert process.stderr is not None
            said = list(islice((line for line in process.stderr if line.startswith("step")), lines))
            taken = time.perf_counter() - begun
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if len(said) < lines:
            raise BenchmarkError(f"{' '.join(words)}: ended before")
        return taken


def measure(rounds: int) -> Section:
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as name:
        bench = Bench(Path(name))
        compared = [_compared(bench, ranks, rounds) for ranks in RANKS]
        first = _first_steps(bench, rounds)
    tables, bounds, notes = zip(*compared, strict=True)
    return Section("loop", [*tables, first], NOTES + "".join(notes), bounds)


def _compared(bench: Bench, ranks: int, rounds: int) -> tuple[Comparison, Bound, str]:
    """The steps of both; what the session takes of argosy's; and a note on its wait for data."""
    own, plain = list[Trained](), list[Trained]()
    for number in range(rounds):
        for trained, those in zip(bench.trained(ranks), (own, plain), strict=True):
            those.append(trained)
        seconds = own[-1].step_seconds, plain[-1].step_seconds
        print(f"  round {number + 1}/{rounds}  {ranks} ranks: {seconds[0]:.4f} s, plain {seconds[1]:.4f} s", flush=True)
    own_steps, plain_steps = ([trained.step_seconds for trained in some] for some in (own, plain))
    share = statistics.median(trained.session_seconds / trained.step_seconds for trained in own)
    waited = statistics.median(trained.waited for trained in own)
    return (
        Comparison(
            f"A step, {ranks} ranks",
            "argosy",
            Figure.of(own_steps),
            [Rival("plain torchrun", Figure.of(plain_steps), MOST)],
        ),
        Bound(f"the session's part of a step, {ranks} ranks", 100 * share, 100 * (MOST - 1), "%"),
        f"- With {ranks} ranks {waited:.1%} of argosy's time went into data that the task makes tensors of.\n",
    )


def _first_steps(bench: Bench, rounds: int) -> Comparison:
    own, plain = [], []
    for number in range(rounds):
        retry = bench.argosy(2, f"killed-{number}", every_seconds=0.3)
        bench.seconds_until(retry, 2, lines=3)
        own.append(bench.seconds_until(retry, 2))
        plain.append(bench.seconds_until(bench.plain(2), 2))
        print(f"  round {number + 1}/{rounds}  first step: {own[-1]:.2f} s, plain {plain[-1]:.2f} s", flush=True)
    rival = Rival("plain torchrun, from scratch", Figure.of(plain))
    return Comparison("From start to first step, 2 ranks", "argosy, a retry", Figure.of(own), [rival])


def _trained(times: Path) -> Trained:
    taken = json.loads(times.read_bytes())
    steps, waited = (_median_difference(taken[name][FIRST_STEPS:]) for name in ("ends", "waited"))
    return Trained(steps, waited / steps, statistics.median(taken["sessions"] or [0.0]))


def _median_difference(ascending: Sequence[float]) -> float:
    return statistics.median(end - begin for begin, end in pairwise(ascending))


def _step(name: str, fields: Mapping[str, object]) -> list[str]:
    return [sys.executable, "-m", "argosy.steps", name, *(f"--{field}={value}" for field, value in fields.items())]


def _run(words: Sequence[str], folder: Path) -> None:
    """Raises BenchmarkError when it fails."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode:
        raise BenchmarkError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr[-2000:]}")


def _environment(ranks: int, times: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "benchmarks"),
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // ranks)),
        "LOOP_TIMES": str(times),
    }
