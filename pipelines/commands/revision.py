"""The git revision of a project."""

import subprocess
from pathlib import Path

DIRTY = "-dirty"


def head(project: Path) -> str:
    """The commit that is checked out, with `-dirty` where tracked files differ from it; empty without git or commit."""
    describe = ["git", "-C", str(project), "describe", "--always", "--abbrev=40", "--exclude=*", f"--dirty={DIRTY}"]
    try:
        said = subprocess.run(describe, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return said.stdout.strip()


def is_pinned(revision: str) -> bool:
    """Whether a revision says what the project's files held."""
    return bool(revision) and not revision.endswith(DIRTY)
