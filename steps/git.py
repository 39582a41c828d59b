"""The git program."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from argosy.steps.errors import configuration_error

ANOTHER_REPOSITORY = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
)
"""By these git tells a hook which repository it is of: in a run that a hook starts they would come before the folder
(githooks(5)).
"""


def git(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs git on the repository in a folder; `environment` is added to this process's.

    Raises StepError (CONFIGURATION) where there is no git.
    """
    # A pod's volume belongs to root, and git would not touch a repository of somebody else's.
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    inherited = {name: value for name, value in os.environ.items() if name not in ANOTHER_REPOSITORY}
    try:
        return subprocess.run(command, capture_output=True, check=False, env=inherited | dict(environment or {}))
    except FileNotFoundError:
        raise configuration_error("git: is not installed; code and data at a revision need it") from None
