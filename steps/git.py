"""The git program."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from argosy.steps.errors import configuration_error


def git(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs git in a folder, with an environment of its own if need be.

    Raises StepError (CONFIGURATION) where there is no git.
    """
    # A pod's volume belongs to root, and git would not touch a repository of somebody else's.
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, env=environment)
    except FileNotFoundError:
        raise configuration_error("git: is not installed; code and data at a revision need it") from None
