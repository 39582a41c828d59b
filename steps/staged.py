"""The data of a step that reads it: staged on this node, and kept there while the step runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argosy.steps import pins
from argosy.steps.base import DataInput
from argosy.steps.cache.node_cache import NodeCache


@contextmanager
def data(inputs: DataInput) -> Iterator[Path]:
    """The folder that the data's files are in. No eviction takes them within the block.

    Raises StepError when they are not staged here (CONFIGURATION), or not as they were staged (DATA).
    """
    with NodeCache(inputs.cache).held(pins.key(inputs.dataset_hash)) as folder:
        yield folder
