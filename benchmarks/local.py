"""Compiled manifests of steps that do nothing, run on this machine: what is left is what running costs."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compile import BIN, TRIVIAL, shape
from neighbours import KFP, METAFLOW, Neighbour
from report import ROOT, Comparison, Rival, Section
from timing import Case, Figure, interleaved

ROUNDS = 3
FLOOR = ROOT / "benchmarks" / "floor.py"
SHAPES = ("chain", "fan")
FEW, SOME, MANY = 4, 100, 1000
PER_STEP_GOAL = 0.5  # of a bare process start
NOTES = f"""
- A step is `python -c pass` in the interpreter that argosy runs in. argosy's manifests are compiled beforehand from
  `benchmarks/trivial.py`; the time of a run is that of the whole process, the reading of the manifest included.
- *Bare starts* is `benchmarks/floor.py`: one loop that starts the same command as often, one at a time for a chain, and
  for a fan as many at once as argosy runs side by side ({os.cpu_count()}, one a core).
- Per step is ({MANY:,} steps - {FEW} steps) / {MANY - FEW}; what argosy adds is its own less that of the bare starts.
- KFP runs by `SubprocessRunner(use_venv=False)` with `install_kfp_package=False`, the quickest it offers. Metaflow
  runs as many tasks at once as argosy does; a fan has three more: start, join and end. Neither is measured at {MANY:,},
  which would take minutes.
"""


def measure(rounds: int) -> Section:
    absent = {peer: why for peer in (KFP, METAFLOW) if (why := peer.install())}
    peers = [peer for peer in (KFP, METAFLOW) if peer not in absent]
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as name:
        cases = [case for kind in SHAPES for steps in (FEW, SOME, MANY) for case in _cases(kind, steps, peers, name)]
        taken = interleaved(cases, rounds)
    runs = [_runs(kind, steps, peers, taken) for kind in SHAPES for steps in (FEW, SOME, MANY)]
    missing = [f"- {peer.name} {peer.version} is not measured: {why}.\n" for peer, why in absent.items()]
    return Section("local", [*(_added(kind, taken) for kind in SHAPES), *runs], "".join([NOTES, *missing]))


def _cases(kind: str, steps: int, peers: list[Neighbour], folder: str) -> list[Case]:
    """Argosy, its floor, and the neighbours that can do it in seconds."""
    manifest = Path(folder) / f"{kind}-{steps}.yaml"
    compiler = [str(BIN / "argosy"), "compile", str(TRIVIAL), "--output", str(manifest)]
    subprocess.run(compiler, env={**os.environ, **shape(kind, steps)}, check=True)
    at_once = os.cpu_count() or 1 if kind == "fan" else 1
    floor = [sys.executable, str(FLOOR), str(steps), str(at_once), sys.executable, "-c", "pass"]
    return [
        Case(_argosy(kind, steps), [str(BIN / "argosy"), "run", str(manifest)], steps=steps, count=_succeeded),
        Case(_floor(kind, steps), floor, steps=steps, count=lambda _folder, output: int(output)),
        *(peer.case(kind, steps) for peer in peers if steps < MANY),
    ]


def _runs(kind: str, steps: int, peers: list[Neighbour], taken: dict[str, Figure]) -> Comparison:
    rivals = [
        Rival(f"{peer.name} {peer.version}", taken[peer.case(kind, steps).name], at_most=1)
        for peer in peers
        if steps < MANY
    ]
    title = f"A {kind} of {steps:,}"
    return Comparison(
        title, "argosy run", taken[_argosy(kind, steps)], [Rival("bare starts", taken[_floor(kind, steps)]), *rivals]
    )


def _added(kind: str, taken: dict[str, Figure]) -> Comparison:
    run = _per_step(taken[_argosy(kind, MANY)], taken[_argosy(kind, FEW)])
    bare = _per_step(taken[_floor(kind, MANY)], taken[_floor(kind, FEW)])
    added = Figure(run.minimum - bare.minimum, run.median - bare.median, run.rounds)
    title = f"What argosy adds to each step of a {kind}"
    return Comparison(title, "argosy adds", added, [Rival("a bare start", bare, at_most=PER_STEP_GOAL)])


def _per_step(many: Figure, few: Figure) -> Figure:
    steps = MANY - FEW
    return Figure((many.minimum - few.minimum) / steps, (many.median - few.median) / steps, many.rounds)


def _argosy(kind: str, steps: int) -> str:
    return f"argosy run, {kind} of {steps}"


def _floor(kind: str, steps: int) -> str:
    return f"bare starts, {kind} of {steps}"


def _succeeded(folder: Path, _output: str) -> int:
    """The pods that succeeded, once the run has."""
    (state,) = folder.glob(".argosy/runs/*/workflow.json")
    status = json.loads(state.read_bytes())["status"]
    pods = [node for node in status["nodes"].values() if node["type"] == "Pod"]
    return sum(pod["phase"] == "Succeeded" for pod in pods) if status["phase"] == "Succeeded" else 0
