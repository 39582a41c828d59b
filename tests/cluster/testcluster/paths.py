"""Where the cluster's parts lie: all in git-ignored folders of this checkout."""

from collections.abc import Iterable
from pathlib import Path

SOURCES = Path(__file__).parents[1]
ROOT = SOURCES.parents[1]
BUILD = ROOT / "build" / "cluster"
BINARIES = BUILD / "bin"
IMAGES = BUILD / "images"
STATE = BUILD / "state"
"""What a running cluster keeps; gone after it is torn down."""


def is_newer(target: Path, sources: Iterable[Path]) -> bool:
    """Whether something is there, made after the last change of what it was made of."""
    return target.exists() and all(target.stat().st_mtime >= source.stat().st_mtime for source in sources)
