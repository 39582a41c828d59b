"""One state kept by argosy, by torch.save and by torch.distributed.checkpoint.async_save, in turn in one process."""

import os
import shutil
import tempfile
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from report import Comparison, Rival, Section
from timing import BenchmarkError, Figure
from torch import Tensor, distributed
from torch.distributed import checkpoint

from argosy.steps.train.checkpoints import Checkpoints
from argosy.steps.train.checkpoints.folder import Folder
from argosy.steps.train.world import World

ROUNDS = 5
ARGOSY, SYNCHRONOUS, ASYNCHRONOUS = "argosy", "torch.save and fsync", "async_save"
OF_SYNCHRONOUS = 0.05
DATA = "0" * 32

Taken = dict[str, list[float]]
"""Name -> seconds of each round."""


@dataclass(frozen=True)
class Size:
    layers: int
    width: int

    def state(self) -> dict[str, Any]:
        """Weights as a transformer has them, and the two averages that Adam keeps of each."""
        return {
            f"layer {layer}": {name: torch.randn(self.width, self.width) for name in ("weight", "mean", "square")}
            for layer in range(self.layers)
        }


FULL = Size(layers=40, width=1024)


class Part:
    """What is kept. It makes no copy of what it is given: the time ends when there are tensors."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state

    def state_dict(self) -> dict[str, Any]:
        return self.state

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self.state = state


class Way(ABC):
    """One way to keep a state in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def save(self, state: dict[str, Any]) -> Callable[[], object]:
        """Returns when the training may go on, with what waits until the state is kept."""

    @abstractmethod
    def load(self) -> dict[str, Any]: ...


class Argosy(Way):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._opened = self._open()
        self._step = 0

    def _open(self) -> Checkpoints:
        return Checkpoints(Folder(self.folder), World(0, 1, torch.device("cpu")), kept=2, dataset_hash=DATA)

    def save(self, state: dict[str, Any]) -> Callable[[], object]:
        self._step += 1
        self._opened.save(self._step, {"part": Part(state)})
        return self._opened.finish

    def load(self) -> dict[str, Any]:
        part = Part({})
        self._open().resume({"part": part})
        return part.state


class Synchronous(Way):
    def save(self, state: dict[str, Any]) -> Callable[[], object]:
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "new").open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        (self.folder / "new").rename(self.folder / "state.pt")
        return lambda: None

    def load(self) -> dict[str, Any]:
        loaded: dict[str, Any] = torch.load(self.folder / "state.pt", weights_only=True)
        return loaded


class Asynchronous(Way):
    def save(self, state: dict[str, Any]) -> Callable[[], object]:
        shutil.rmtree(self.folder, ignore_errors=True)
        saved = checkpoint.async_save(state, checkpoint_id=self.folder)
        assert isinstance(saved, Future)
        return saved.result

    def load(self) -> dict[str, Any]:
        state = {
            layer: {name: torch.empty_like(tensor) for name, tensor in tensors.items()}
            for layer, tensors in self._like.items()
        }
        checkpoint.load(state, checkpoint_id=self.folder)
        return state

    def __init__(self, folder: Path, like: Mapping[str, Mapping[str, Tensor]]) -> None:
        super().__init__(folder)
        self._like = like


def measure(rounds: int, size: Size = FULL) -> Section:
    state = size.state()
    count = sum(tensor.nbytes for tensors in state.values() for tensor in tensors.values())
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        with tempfile.TemporaryDirectory(prefix="argosy-bench-") as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder = Path(name)
            ways = {
                ARGOSY: Argosy(folder / "argosy"),
                SYNCHRONOUS: Synchronous(folder / "synchronous"),
                ASYNCHRONOUS: Asynchronous(folder / "asynchronous", state),
            }
            first = {way: _kept(kind, state)[0] for way, kind in ways.items()}
            stalls, totals, loads = _rounds(ways, state, rounds)
    finally:
        distributed.destroy_process_group()
    size_text = f"{count / 1e6:,.0f} MB"
    tables = [
        _table(f"stall of a step, {size_text}", stalls, {SYNCHRONOUS: OF_SYNCHRONOUS}),
        _table(f"until it is kept, {size_text}", totals, {}),
        _table(f"resume, {size_text}", loads, {}),
    ]
    return Section("checkpoints", tables, _notes(first))


def _rounds(ways: Mapping[str, Way], state: dict[str, Any], rounds: int) -> tuple[Taken, Taken, Taken]:
    stalls: Taken = {name: [] for name in ways}
    totals: Taken = {name: [] for name in ways}
    loads: Taken = {name: [] for name in ways}
    for number in range(1, rounds + 1):
        for name, way in ways.items():
            stall, total = _kept(way, state)
            began = time.perf_counter()
            loaded = way.load()
            loads[name].append(time.perf_counter() - began)
            _verify(name, state, loaded)
            stalls[name].append(stall)
            totals[name].append(total)
            print(f"  round {number}/{rounds}  {name}: {stall:.3f} s, kept after {total:.3f} s", flush=True)
    return stalls, totals, loads


def _kept(way: Way, state: dict[str, Any]) -> tuple[float, float]:
    """Seconds until the training may go on, and until the state is kept."""
    os.sync()
    began = time.perf_counter()
    wait = way.save(state)
    stall = time.perf_counter() - began
    wait()
    return stall, time.perf_counter() - began


def _verify(name: str, state: dict[str, Any], loaded: dict[str, Any]) -> None:
    pairs = [(one, loaded[layer][key]) for layer, tensors in state.items() for key, one in tensors.items()]
    if not all(torch.equal(one, other) for one, other in pairs):
        raise BenchmarkError(f"{name} gives other numbers back than were kept")


def _table(title: str, taken: Taken, goals: Mapping[str, float]) -> Comparison:
    figures: dict[str, Figure] = {name: Figure.of(seconds) for name, seconds in taken.items()}
    names: Sequence[str] = [name for name in figures if name != ARGOSY]
    return Comparison(title, ARGOSY, figures[ARGOSY], [Rival(name, figures[name], goals.get(name)) for name in names])


def _notes(first: Mapping[str, float]) -> str:
    stalls = ", ".join(f"{name} {stall:.2f} s" for name, stall in first.items())
    return f"""
- One process, on CPU, and nothing that is trained meanwhile. `sync` runs before each save, and is not timed. A stall
  here is what it takes to copy the state in memory; the first one, which also makes room for it, is not in the table:
  {stalls}.
- argosy alone hashes what it writes, and compares every byte with its hash when it resumes. `torch.load` unpickles,
  restricted to weights. async_save is torch.distributed.checkpoint's, in a thread, with its defaults.
- What was just written is still in the page cache when it is loaded.
"""
