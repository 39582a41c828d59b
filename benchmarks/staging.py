"""The same objects out of one S3 server on this machine: staged by argosy, DVC and rclone, and the least it costs."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from borrowed import objectstore
from report import ROOT, Bound, Comparison, Rival, Section
from staging_tools import ARGOSY, FLOOR, PULL, Bench, Load
from timing import BenchmarkError, Case, interleaved

ROUNDS = 2
LATENCIES = (0, 20)
"""Milliseconds before each of the server's answers."""
MOST_MEGABYTES, WARM_SECONDS, RESOLVE_SECONDS = 400.0, 0.5, 0.3
NOTES = """
- One server (`tests/objectstore`, HTTP, no TLS) and its client share this machine and its cores. A latency is waited
  for before each answer. `sync` runs before each command, and is not timed.
- argosy is `python -m argosy.steps stage` in an empty cache, with the pin that `resolve` gave, and `ensure` for warm.
  The start of the interpreter counts. It always compares every file with its md5, and ends when all is on the disk;
  no other does either, but for `verify = true`, which compares.
- `dvc pull` runs in a clone with neither cache nor index; warm is the same again. Its default link is a copy here.
- The floor is `benchmarks/staging_floor.py`: it reads the objects' files with two threads, hashes and writes them,
  large ones past the page cache, and leaves small ones in it. It knows no latency: its goal is set at none.
"""


@dataclass(frozen=True)
class Size:
    """How much is staged: the loads that tools are compared on, and the one that sets bounds."""

    loads: Sequence[Load]
    many: Load


FULL = Size(
    [
        Load("small", 10_000, 20_000, of_dvc=1 / 6, of_floor=2.5),
        Load("shards", 8, 128 << 20, of_dvc=1 / 2, of_floor=1.5),
    ],
    Load("many", 100_000, 1_000),
)


def measure(rounds: int, size: Size = FULL) -> Section:
    if why := objectstore.missing():
        raise BenchmarkError(why)
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as name:
        folder = Path(name)
        _write(folder, [*size.loads, size.many])
        with objectstore.serving(folder / "buckets") as store:
            compared = [_compared(Bench(load, folder, store), rounds) for load in size.loads]
            bounds, own = _bounds(Bench(size.many, folder, store), rounds)
    notes = NOTES if shutil.which("rclone") else f"{NOTES}- rclone is not measured: it is not installed.\n"
    tables = [table for some, _ in compared for table in some]
    return Section("staging", tables, notes + own, [*bounds, *(memory for _, memory in compared)])


def _write(folder: Path, loads: Sequence[Load]) -> None:
    writer = [sys.executable, str(ROOT / "benchmarks" / "staging_data.py"), str(folder)]
    subprocess.run([*writer, *(f"{load.name}={load.files}x{load.file_bytes}" for load in loads)], check=True)


def _compared(bench: Bench, rounds: int) -> tuple[list[Comparison], Bound]:
    """A table for each latency, cold and warm; and argosy's memory when cold."""
    interleaved([bench.resolve], 1)
    load, tools, floor = bench.load, [bench.argosy(), *bench.rivals()], bench.floor()
    tables = []
    for latency in LATENCIES:
        goals = {PULL: load.of_dvc, FLOOR: None if latency else load.of_floor}
        cases = {tool.name: bench.cold(tool, latency) for tool in (*tools, floor)}
        tables.append(_table(f"{load.title}, cold, {latency} ms", cases, goals, rounds))
    memory = max(table.figure.memory for table in tables)
    kept = {tool.name: bench.folder / "kept" / str(number) for number, tool in enumerate(tools)}
    interleaved([bench.cold(tool, 0, kept[tool.name]) for tool in tools], 1)
    for latency in LATENCIES:
        cases = {tool.name: bench.warm(tool, latency, kept[tool.name]) for tool in tools}
        tables.append(_table(f"{load.title}, warm, {latency} ms", cases, {}, rounds))
    shutil.rmtree(bench.folder / "kept")
    return tables, _memory(load, memory)


def _table(title: str, cases: Mapping[str, Case], goals: Mapping[str, float | None], rounds: int) -> Comparison:
    taken = interleaved(list(cases.values()), rounds)
    figures = {tool: taken[case.name] for tool, case in cases.items()}
    rivals = [Rival(tool, figure, goals.get(tool)) for tool, figure in figures.items() if tool != ARGOSY]
    return Comparison(title, ARGOSY, figures[ARGOSY], rivals)


def _bounds(bench: Bench, rounds: int) -> tuple[list[Bound], str]:
    """The bounds that many files are held to, and what the steps say of themselves."""
    load, kept = bench.load, bench.folder / "kept"
    resolved = interleaved([bench.resolve], rounds)[bench.resolve.name]
    argosy = bench.argosy()
    cold, warm = bench.cold(argosy, 0, kept), bench.warm(argosy, 0, kept)
    staged = interleaved([cold], 1)[cold.name]
    ensured = interleaved([warm], rounds)[warm.name]
    own = {"ensure": _own_seconds(kept / "output"), "resolve": _own_seconds(bench.pin)}
    note = f"""- Of {load.files:,} files, staged cold in {staged.minimum:.1f} s, `ensure` says that its own work took \
{own["ensure"]:.2f} s and `resolve` {own["resolve"]:.2f} s; the rest is the start of their processes.
"""
    bounds = [
        Bound(f"warm, {load.files:,} files", ensured.minimum, WARM_SECONDS, "s"),
        Bound(f"resolve, {load.files:,} files", resolved.minimum, RESOLVE_SECONDS, "s"),
        _memory(load, max(staged.memory, ensured.memory)),
    ]
    return bounds, note


def _memory(load: Load, held: int) -> Bound:
    return Bound(f"memory, {load.title}", held / 1e6, MOST_MEGABYTES, "MB")


def _own_seconds(output: Path) -> float:
    return float(json.loads((output / "record.json").read_bytes())["seconds"])
