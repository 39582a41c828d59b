"""What can be wrong with a view."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError

NAMED_AT_MOST = 10


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is not as it was staged."""

    path: str
    reason: str
    """`is missing`, `has other bytes` or `was not staged`."""
    md5: str = ""
    """What it was staged as; empty: it was not staged."""

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


class Damaged(StepError):  # noqa: N818 - says how the view is; what it is to a user, StepError says
    """A view is not as it was staged (DATA)."""

    def __init__(self, folder: Path, faults: Sequence[Fault]) -> None:
        named = ", ".join(str(fault) for fault in faults[:NAMED_AT_MOST])
        more = f" and {len(faults) - NAMED_AT_MOST} more" if len(faults) > NAMED_AT_MOST else ""
        super().__init__(ExitCode.DATA, f"{folder}: {named}{more}; stage it again: what is damaged is then replaced")
        self.faults = tuple(faults)


class Unreadable(StepError):  # noqa: N818 - as above
    """A view's own files do not say what it is (DATA)."""

    def __init__(self, path: Path) -> None:
        what = f"{path}: is no such file of this version of argosy"
        super().__init__(ExitCode.DATA, f"{what}; stage its data again: the version is then replaced")


class Gone(Exception):  # noqa: N818 - no error: the caller fetches these blobs again
    """Blobs that are not in the cache, though they were: an eviction took them."""

    def __init__(self, md5s: Sequence[str]) -> None:
        super().__init__(f"{len(md5s)} blobs are gone")
        self.md5s = tuple(md5s)
