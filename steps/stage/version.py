"""Datasets in the node's cache.

    CACHE/datasets/HASH/version.json    what it is; there only when everything else is
    CACHE/datasets/HASH/data/           the dataset, read-only
    CACHE/datasets/.partial-*           being staged; whoever stages holds a lock on the folder

A version appears by one rename, so what has its name is whole.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from argosy.steps import files
from argosy.steps.contracts import Contract
from argosy.steps.errors import configuration_error, data_error
from argosy.steps.stage import contents
from argosy.steps.stage.contents import File

DATASETS = "datasets"
VERSION = "version.json"
DATA = "data"
NAMED_AT_MOST = 10


class Version(Contract):
    """What a version file says."""

    dataset: str
    dataset_hash: str
    revision: str
    contents: dict[str, File]
    """Path in the dataset -> file."""

    @property
    def files(self) -> int:
        return len(self.contents)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.contents.values())


def folder_of(cache: Path, dataset_hash: str) -> Path:
    return cache / DATASETS / dataset_hash.removesuffix(".dir")


def found(cache: Path, dataset_hash: str) -> Version | None:
    """The version with this hash, None where there is none.

    Raises StepError (DATA) when what is there is not what its version file says.
    """
    folder = folder_of(cache, dataset_hash)
    remedy = f"remove {folder} (read-only: chmod -R u+w before) and stage again"
    try:
        version = Version.model_validate_json((folder / VERSION).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise data_error(f"{folder / VERSION}: is no version file of this version of argosy; {remedy}") from None
    if version.dataset_hash.removesuffix(".dir") != folder.name:
        raise data_error(f"{folder / VERSION}: is of {version.dataset_hash}; {remedy}")
    if faults := contents.faults(folder / DATA, version.contents):
        more = f" and {len(faults) - NAMED_AT_MOST} more" if len(faults) > NAMED_AT_MOST else ""
        raise data_error(f"{folder / DATA}: {', '.join(faults[:NAMED_AT_MOST])}{more}; {remedy}")
    return version


def data(cache: Path, dataset_hash: str) -> Path:
    """The folder that a staged dataset's files are in. Raises StepError when it is not staged, or damaged (DATA)."""
    if found(cache, dataset_hash) is None:
        raise configuration_error(
            f"{folder_of(cache, dataset_hash)}: is not staged on this node; run the stage step here"
        )
    return folder_of(cache, dataset_hash) / DATA


@contextmanager
def staging(cache: Path) -> Iterator[Path]:
    """A new folder to stage into: gone afterwards, unless it was published."""
    parent = cache / DATASETS
    parent.mkdir(parents=True, exist_ok=True)
    _sweep(parent)
    folder, lock = _locked(parent)
    try:
        (folder / DATA).mkdir()
        yield folder
    finally:
        if folder.exists():
            files.remove_folder(folder)
        os.close(lock)


def publish(staged: Path, cache: Path, version: Version) -> None:
    """The staged folder becomes the version, unless another stage was first with the same."""
    files.write_text(staged / VERSION, version.model_dump_json(indent=2) + "\n")
    for parent, folders, names in os.walk(staged, topdown=False):
        for name in names:
            Path(parent, name).chmod(0o444)
        for name in folders:
            Path(parent, name).chmod(0o555)
            files.sync_folder(Path(parent, name))
    staged.chmod(0o555)
    try:
        staged.rename(folder_of(cache, version.dataset_hash))
    except OSError:
        if found(cache, version.dataset_hash) is None:
            raise
    else:
        files.sync_folder(staged.parent)


def _locked(parent: Path) -> tuple[Path, int]:
    """A new folder and the lock on it, which the kernel frees when this process ends, however it does."""
    while True:
        folder = files.partial(parent)
        folder.mkdir()
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)  # another stage took it for a leftover before the lock was there


def _sweep(parent: Path) -> None:
    """Removes what stages left behind that were killed."""
    for leftover in parent.glob(f"{files.PARTIAL}*"):
        try:
            lock = os.open(leftover, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            files.remove_folder(leftover)
        except (BlockingIOError, FileNotFoundError):
            continue  # its owner is alive, or another stage is removing it
        finally:
            os.close(lock)
