"""Itemise: the files of pinned data, each with its hash, as its remote lists them."""

import time
from pathlib import PurePosixPath

from argosy.steps.contracts import ItemiseInput, ItemiseOutput
from argosy.steps.stage import listing, selection, store

ATTEMPTS = 2
"""Somebody waits at a terminal."""


def run(inputs: ItemiseInput) -> ItemiseOutput:
    """Raises StepError: what `listing.entries` raises, and what opening a store does."""
    started = time.monotonic()
    files: dict[str, str] = {}
    for source in inputs.dataset_pin.sources:
        opened = store.opened(source.remote, inputs.project)
        for entry in selection.selected(source, listing.entries(opened, source, attempts=ATTEMPTS)):
            path = source.path if source.file else str(PurePosixPath(source.path, entry.path))
            files[path] = entry.md5
    return ItemiseOutput(summary=f"{len(files):,} files", seconds=time.monotonic() - started, files=files)
