"""Where the cluster's parts lie: all in git-ignored folders of this checkout."""

from pathlib import Path

SOURCES = Path(__file__).parents[1]
ROOT = SOURCES.parents[1]
BUILD = ROOT / "build" / "cluster"
BINARIES = BUILD / "bin"
IMAGES = BUILD / "images"
STATE = BUILD / "state"
"""What a running cluster keeps; gone after it is torn down."""
