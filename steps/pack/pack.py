"""Many small files -> WebDataset shards that were read back: an object store serves few large objects far quicker."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from argosy.steps import files
from argosy.steps.base import Split
from argosy.steps.errors import configuration_error, data_error
from argosy.steps.pack import grouping, shards
from argosy.steps.pack.contracts import PackInput, PackOutput
from argosy.steps.pack.grouping import Sample
from argosy.steps.progress import Progress


def run(inputs: PackInput) -> PackOutput:
    """All shards of a folder's samples, or none.

    Raises StepError: CONFIGURATION for folders that cannot be used, DATA for files that a reader of shards would lose.
    """
    started = time.monotonic()
    _check_folders(inputs.folder, inputs.out, inputs.split)
    samples = grouping.samples(inputs.folder)
    plan = shards.planned(samples, inputs.bytes)
    _make_parent(inputs.out)
    with files.new_folder(inputs.out) as partial:
        if inputs.out.exists():
            shutil.copytree(inputs.out, partial, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
        total = _verify(_write(inputs.folder, partial, inputs.split, plan), samples)
    return PackOutput(
        summary=f"{len(samples):,} samples, {total / 1e6:,.1f} MB, in {len(plan):,} shard{'s' * (len(plan) != 1)}",
        seconds=time.monotonic() - started,
        samples=len(samples),
        bytes=total,
        shards=len(plan),
    )


def _check_folders(folder: Path, out: Path, split: Split) -> None:
    if not folder.is_dir():
        raise configuration_error(f"{folder}: is no folder; name the one whose files are to be packed")
    here, there = folder.resolve(), out.resolve()
    if here.is_relative_to(there) or there.is_relative_to(here):
        raise configuration_error(f"{out}: is {folder}, or one holds the other; name a folder beside it for the shards")
    if out.exists() and not out.is_dir():
        raise configuration_error(f"{out}: is no folder; name another for the shards")
    if present := sorted(out.glob(f"{split}-*.tar")):
        raise configuration_error(f"{present[0]}: is there already; name another folder, or remove its {split}-*.tar")


def _make_parent(out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        probe = files.partial(out.parent)
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise configuration_error(f"{out}: cannot be made: {error.strerror}; name another folder") from None


def _write(folder: Path, out: Path, split: Split, plan: Sequence[Sequence[Sample]]) -> list[Path]:
    written = [out / f"{split}-{number:06d}.tar" for number in range(len(plan))]
    tally = _Tally(sum(map(len, plan)))
    for shard, samples in zip(written, plan, strict=True):
        shards.write(shard, folder, tally.passed(samples))
    files.sync_folder(out)
    return written


class _Tally:
    """Says how many samples have passed."""

    def __init__(self, total: int) -> None:
        self._progress = Progress(total)
        self._done = 0

    def passed(self, samples: Sequence[Sample]) -> Iterator[Sample]:
        for sample in samples:
            yield sample
            self._done += 1
            self._progress.report(self._done, lambda: f"{self._done:,} of {self._progress.total:,} samples packed")


def _verify(written: Sequence[Path], samples: Sequence[Sample]) -> int:
    """Reads every shard back, and returns the bytes of all samples. Raises StepError (DATA) for a difference."""
    total = 0
    read = (found for shard in written for found in shards.read(shard))
    for sample in samples:
        expected = (sample.key, len(sample.members), sum(member.bytes for member in sample.members))
        if (found := next(read, None)) != expected:
            raise data_error(f"sample {sample.key}: is read back as {found}, and was {expected}; pack again")
        total += expected[2]
    if extra := next(read, None):
        raise data_error(f"sample {extra[0]}: is read back, and was not packed; pack again")
    return total
