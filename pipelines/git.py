"""The git program, on the repository of a folder and no other."""

import os

_ANOTHER_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")
"""By these git tells a hook which repository it is of: they would come before the folder (githooks(5))."""


def environment() -> dict[str, str]:
    """What this process has, less what leads git to another repository than the one that it is told."""
    return {name: value for name, value in os.environ.items() if name not in _ANOTHER_REPOSITORY}
