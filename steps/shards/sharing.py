"""One index for all ranks of a node, and for their loader workers."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argosy.steps import files
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.shards.dataset import Dataset
from argosy.steps.shards.indexing import index


def shared(data: Path, split: str, folder: Path) -> Dataset:
    """A split's samples, as `index` has them. Whoever asks first makes the index and leaves it in `folder`, where the
    others wait for it: a folder of processes that end together, on a disk of their own machine.

    Raises StepError as `index` does, and TEMPORARY where the index cannot be kept.
    """
    kept = folder / f"index-{split}"
    try:
        with _alone(folder / f"index-{split}.lock"):
            if not kept.exists():
                indexed = index(data, split)
                with files.new_folder(kept) as made:
                    indexed.write(made)
        return Dataset.opened(kept)
    except OSError as error:
        raise StepError(ExitCode.TEMPORARY, f"{kept}: an index cannot be kept: {error.strerror}") from None


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time; the kernel frees a dead one's lock."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
