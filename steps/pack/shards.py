"""Samples as WebDataset shards: tars whose bytes depend on the samples' names and content alone."""

import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from argosy.steps import files
from argosy.steps.errors import data_error
from argosy.steps.pack.grouping import Member, Sample

MODE = 0o444
END_OF_ARCHIVE = 2 * tarfile.BLOCKSIZE


def planned(samples: Sequence[Sample], most_bytes: int) -> list[list[Sample]]:
    """The samples of each shard, in order. A sample is never torn: one that is too large has a shard of its own."""
    room = most_bytes // tarfile.RECORDSIZE * tarfile.RECORDSIZE - END_OF_ARCHIVE
    shards: list[list[Sample]] = [[]]
    taken = 0
    for sample in samples:
        needed = sum(map(_bytes_in_shard, sample.members))
        if shards[-1] and taken + needed > room:
            shards.append([])
            taken = 0
        shards[-1].append(sample)
        taken += needed
    return shards


def write(shard: Path, folder: Path, samples: Iterable[Sample]) -> None:
    """A shard of a folder's samples, on the disk. Raises StepError (DATA) for a file that changes meanwhile."""
    with tarfile.open(shard, "x", format=tarfile.GNU_FORMAT) as archive:
        for sample in samples:
            for member in sample.members:
                _add(archive, folder / member.name, member)
    files.sync_file(shard)


def read(shard: Path) -> Iterator[tuple[str, int, int]]:
    """Key, members and bytes of each sample, as webdataset reads them."""
    from webdataset.tariterators import group_by_keys, tar_file_expander

    with shard.open("rb") as stream:
        for fields in group_by_keys(tar_file_expander([{"url": str(shard), "stream": stream}])):
            contents = [content for name, content in fields.items() if not name.startswith("__")]
            yield fields["__key__"], len(contents), sum(map(len, contents))


def _add(archive: tarfile.TarFile, path: Path, member: Member) -> None:
    with path.open("rb") as source:
        try:
            archive.addfile(_header(member), source)
            has_changed = bool(source.read(1))
        except OSError as error:
            if error.errno is not None:
                raise
            has_changed = True  # tarfile's own error for a file that ends early
    if has_changed:
        raise data_error(f"{path}: changed while it was packed; pack again when nothing writes there")


def _header(member: Member) -> tarfile.TarInfo:
    """Of nobody, and of no time."""
    header = tarfile.TarInfo(member.name)
    header.size, header.mode = member.bytes, MODE
    return header


def _bytes_in_shard(member: Member) -> int:
    blocks = -(-member.bytes // tarfile.BLOCKSIZE)
    return len(_header(member).tobuf(tarfile.GNU_FORMAT)) + blocks * tarfile.BLOCKSIZE
