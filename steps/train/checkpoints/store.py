"""Where a run's checkpoints are kept."""

from collections.abc import Callable, Sequence
from typing import Protocol

from argosy.steps.contracts import TrainInput
from argosy.steps.train.checkpoints.manifest import Manifest
from argosy.steps.train.run import Run

Use = Callable[[int, memoryview], None]
"""What is done with a block: its number, and its bytes, until it returns. From several threads at a time."""

DAMAGED = "damaged-"
"""How the name of a checkpoint begins that is set aside."""


class Store(Protocol):
    """Checkpoints by their names, which are never given again. Of a name that is not committed nothing counts.

    Every call raises StepError: CONFIGURATION where the store has no room or gives no rights, TEMPORARY where it does
    not answer.
    """

    def place(self, name: str) -> str:
        """Where a person finds a checkpoint."""
        ...

    def write(self, name: str, part: int, content: memoryview) -> None:
        """A part is on the disk when this returns."""
        ...

    def commit(self, name: str, manifest: Manifest) -> None:
        """The checkpoint counts when this returns; nothing of it does when it fails."""
        ...

    def names(self) -> list[str]:
        """Those that count."""
        ...

    def manifest(self, name: str) -> bytes:
        """Raises ObjectFailure, too."""
        ...

    def read(self, name: str, part: int, blocks: Sequence[int], use: Use) -> None:
        """These blocks of a part, each once. Raises what `use` raises, and ObjectFailure, too."""
        ...

    def remove(self, name: str) -> None:
        """A checkpoint, or whatever there is of it."""
        ...

    def set_aside(self, name: str) -> None:
        """It does not count any more, but can be looked into until the next `sweep`."""
        ...

    def sweep(self) -> None:
        """Removes what killed attempts left half-written, and what was set aside before."""
        ...


def store(inputs: TrainInput) -> Store:
    """A run's own: MODELS/RUN/checkpoints, or a folder RUN in a bucket. Raises StepError (CONFIGURATION)."""
    if inputs.checkpoint_store:
        from argosy.steps.train.checkpoints.bucket import Bucket

        return Bucket(inputs.checkpoint_store, inputs.run)
    from argosy.steps.train.checkpoints.folder import Folder

    return Folder(Run(inputs).checkpoints)
