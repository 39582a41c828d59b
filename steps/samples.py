"""The samples of a split, out of its WebDataset shards `SPLIT-*.tar`.

webdataset reads them. What it skips without a word (shards that end early, members that belong to no sample, samples
torn apart) is refused here first, from the headers alone.
"""

import tarfile
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from webdataset.tariterators import base_plus_ext, group_by_keys, tar_file_expander

from argosy.steps.errors import StepError, data_error
from argosy.steps.task import Task

END_OF_ARCHIVE = bytes(2 * tarfile.BLOCKSIZE)


@dataclass(frozen=True)
class Sample:
    shard: Path
    key: str
    members: Mapping[str, bytes]
    """Extension -> content."""


@dataclass(frozen=True)
class Samples:
    """A split in memory: the first axis of both counts samples."""

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)


def shards(folder: Path, split: str) -> list[Path]:
    """A split's shards, by name; those of each dataset's folder where a run has several.

    Raises StepError (DATA) when there are none, or one is not sound.
    """
    found = sorted(folder.glob(f"{split}-*.tar")) or sorted(folder.glob(f"*/{split}-*.tar"))
    if not found:
        raise data_error(f"{folder}: has no {split}-*.tar; a split {split} must be in the dataset")
    for shard in found:
        _check(shard)
    return found


def read(folder: Path, split: str) -> Generator[Sample]:
    """Every sample of a split, in the order of its shards."""
    for shard in shards(folder, split):
        # webdataset's own opener leaves the file open.
        with shard.open("rb") as stream:
            for fields in group_by_keys(tar_file_expander([{"url": str(shard), "stream": stream}])):
                members = {name: content for name, content in fields.items() if not name.startswith("__")}
                yield Sample(shard, fields["__key__"], members)


def load(task: Task, folder: Path, split: str, limit: int | None = None) -> Samples:
    """A split, or its first samples, as the task's tensors.

    Raises StepError (DATA) that names the sample which the task refuses.
    """
    with closing(read(folder, split)) as found:
        pairs = [_tensors(task, sample) for sample in islice(found, limit)]
    try:
        return Samples(torch.stack([pair[0] for pair in pairs]), torch.stack([pair[1] for pair in pairs]))
    except RuntimeError as error:
        raise data_error(f"{folder}: samples of {split} differ in shape: {error}; the task must give one") from None


def _tensors(task: Task, sample: Sample) -> tuple[Tensor, Tensor]:
    try:
        return task.sample(sample.members)
    except ValueError as error:
        members = ", ".join(sorted(sample.members))
        dots = " (a key ends at its first dot)" if any("." in name for name in sample.members) else ""
        raise data_error(f"{sample.shard}: sample {sample.key}: {error}; its members are {members}{dots}") from error
    except Exception as error:
        error.add_note(f"while reading sample {sample.key} of {sample.shard}")
        raise


def _check(shard: Path) -> None:
    """Raises StepError (DATA) for what webdataset would pass over."""
    try:
        with tarfile.open(shard, "r:") as archive:
            _check_members(shard, archive)
    except tarfile.TarError as error:
        raise _unsound(shard, str(error)) from None
    with shard.open("rb") as file:
        file.seek(-len(END_OF_ARCHIVE), 2)
        if file.read() != END_OF_ARCHIVE:
            raise _unsound(shard, "ends before its end-of-archive mark")


def _check_members(shard: Path, archive: tarfile.TarFile) -> None:
    complete: set[str] = set()
    current, extensions = "", set[str]()
    for member in archive:
        where = f"member {member.name} at byte {member.offset}"
        key, extension = base_plus_ext(member.name)
        if member.isdir():
            continue
        if not member.isfile():
            raise _unsound(shard, f"{where} is no regular file")
        if key is None:
            raise _unsound(shard, f"{where} has no extension, so it belongs to no sample")
        if key != current:
            complete.add(current)
            current, extensions = key, set()
        if key in complete:
            raise _unsound(shard, f"{where} stands apart from the other members of its sample")
        if extension.lower() in extensions:
            raise _unsound(shard, f"{where} stands twice")
        extensions.add(extension.lower())
    if not current:
        raise _unsound(shard, "holds no samples")


def _unsound(shard: Path, reason: str) -> StepError:
    return data_error(f"{shard}: {reason}; write this shard anew, and add the dataset anew to DVC")
