"""The same shards read by argosy's loader, by plain webdataset, and as bytes alone, in turn in one process."""

import gc
import io
import os
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
import webdataset
from report import Bound, Comparison, Rival, Section
from timing import BenchmarkError, Figure
from torch import Tensor

from argosy.steps.shards.dataset import Dataset
from argosy.steps.shards.indexing import index
from argosy.steps.train.data.loader import Loader

ROUNDS = 5
SHARDS = 8
BATCH = 64
ARGOSY, PROCESS, WEBDATASET, RAW = "argosy", "argosy, one worker process", "webdataset", "raw read"
OF_RAW = 1 / 0.9
INDEX_SECONDS, INDEX_MEGABYTES = 20.0, 100.0
NOTES = f"""
- One epoch of a split in {SHARDS} shards, in batches of {BATCH}: the bytes become a tensor, the label a number, and
  nothing else. torch has one thread, as torchrun gives to a rank. Cold: the page cache has been told to forget the
  shards, where the system has a call for that.
- argosy reads each sample from its place in the epoch's order, asks the disk for those of a step together, seeds the
  generators for each, and reads ahead in a thread; its index is made beforehand. A worker process sends its
  batches through a pipe, and its start counts.
- webdataset shuffles 1,000 samples, and has no worker processes.
- The raw read takes each shard from begin to end, a MiB at a time into the same memory, and makes nothing of it.
"""


@dataclass(frozen=True)
class Load:
    name: str
    samples: int
    sample_bytes: int
    of_raw: float | None = None
    """The most of the raw read's time that is the goal, when cold."""

    @property
    def title(self) -> str:
        return f"{self.samples:,} samples of {self.sample_bytes:,} bytes"


FULL = (Load("large", 6_000, 100_000, OF_RAW), Load("small", 30_000, 1_000))


class Bytes:
    """A task whose samples need no decoding."""

    def sample(self, members: Mapping[str, bytes]) -> tuple[Tensor, Tensor]:
        return torch.frombuffer(members["bin"], dtype=torch.uint8), torch.tensor(int(members["cls"]))


def measure(rounds: int, loads: Sequence[Load] = FULL) -> Section:
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "The given buffer is not writable")
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as name:
        tables: list[Comparison] = []
        for load in loads:
            folder = Path(name) / load.name
            write(folder, load)
            tables += [_table(folder, load, rounds, is_cold) for is_cold in (True, False)]
        bounds = _index_bounds(Path(name) / loads[-1].name, loads[-1])
    return Section("loader", tables, NOTES, bounds)


def write(folder: Path, load: Load) -> None:
    """Shards on the disk, whose content no file system can press together."""
    folder.mkdir()
    numbers = range(load.samples)
    for shard in range(SHARDS):
        path = folder / f"train-{shard:04d}.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
            for number in numbers[shard::SHARDS]:
                _add(archive, f"{number:08d}.bin", os.urandom(load.sample_bytes))
                _add(archive, f"{number:08d}.cls", str(number).encode())
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _table(folder: Path, load: Load, rounds: int, is_cold: bool) -> Comparison:
    readers = _readers(folder)
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for number in range(1, rounds + 1):
        for name, reader in readers.items():
            gc.collect()
            if is_cold:
                forget(folder)
            seconds[name].append(_timed(reader, load, name))
            rate = load.samples * load.sample_bytes / seconds[name][-1] / 1e6
            print(f"  round {number}/{rounds}  {load.title}, {name}: {rate:,.0f} MB/s", flush=True)
    figures = {name: Figure.of(taken) for name, taken in seconds.items()}
    goals = {RAW: load.of_raw if is_cold else None}
    rivals = [Rival(name, figures[name], goals.get(name)) for name in readers if name != ARGOSY]
    return Comparison(f"{load.title}, {'cold' if is_cold else 'warm'}", ARGOSY, figures[ARGOSY], rivals)


def _readers(folder: Path) -> dict[str, Callable[[], int]]:
    """Name -> what reads a whole epoch and says how many samples it was; 0: it does not count them."""
    return {
        ARGOSY: lambda: _argosy(folder, 0),
        PROCESS: lambda: _argosy(folder, 1),
        WEBDATASET: lambda: _webdataset(folder),
        RAW: lambda: _raw(folder),
    }


def _timed(reader: Callable[[], int], load: Load, name: str) -> float:
    begun = time.perf_counter()
    count = reader()
    taken = time.perf_counter() - begun
    if count not in {0, load.samples}:
        raise BenchmarkError(f"{name} read {count:,} of {load.samples:,} samples")
    return taken


def _argosy(folder: Path, workers: int) -> int:
    loader = Loader(Bytes(), _indexed(folder), batch_size=BATCH, epochs=1, seed=0, rank=0, size=1, workers=workers)
    return sum(len(batch.targets) for batch in loader.batches(0))


@lru_cache
def _indexed(folder: Path) -> Dataset:
    return index(folder, "train")


def _webdataset(folder: Path) -> int:
    task = Bytes()
    shards = [str(shard) for shard in sorted(folder.iterdir())]
    batches = (
        webdataset.WebDataset(shards, shardshuffle=SHARDS, seed=0)
        .shuffle(1000)
        .map(task.sample)
        .batched(BATCH, collation_fn=lambda pairs: [torch.stack(part) for part in zip(*pairs, strict=True)])
    )
    return sum(len(targets) for _, targets in batches)


def _raw(folder: Path) -> int:
    into = bytearray(1 << 20)
    for shard in sorted(folder.iterdir()):
        with shard.open("rb", buffering=0) as file:
            while file.readinto(into):
                pass
    return 0


def forget(folder: Path) -> None:
    """The shards are read from the disk next."""
    for shard in folder.iterdir():
        with shard.open("rb") as file:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _index_bounds(folder: Path, load: Load) -> list[Bound]:
    """What the index of a million samples would take, from that of the last load."""
    begun = time.process_time()
    indexed = index(folder, "train")
    taken = time.process_time() - begun
    scale = 1_000_000 / load.samples
    return [
        Bound("index of 1,000,000 samples of two members, processor", taken * scale, INDEX_SECONDS, "s"),
        Bound(
            "index of 1,000,000 samples of two members, memory",
            indexed.places.bytes * scale / 1e6,
            INDEX_MEGABYTES,
            "MB",
        ),
    ]
