"""Absolute paths inside a pod, as folders of this machine.

A container has a file system of its own; a process has not. So every path that a template declares (mounts, artifacts,
output parameters, `/tmp`) is given a folder, and where a command, an argument, a script or an environment variable
names such a path, that folder is put in its place. A program that makes up an absolute path by itself escapes this.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path


class OutsideError(ValueError):
    """A path in a manifest that leads out of the folder it belongs to."""


def within(folder: Path, path: str) -> Path:
    """A path below a folder. Raises OutsideError for one that `..` leads out of it."""
    below = Path(os.path.normpath(folder / path.lstrip("/")))
    if not below.is_relative_to(folder):
        raise OutsideError(f"path {path!r} leads out of its folder; leave out the '..'")
    return below


# A path may follow anything but a piece of a longer path, or a scheme whose host or bucket it would be:
# `sqlite:////data/x.db` and `file:///data` name /data, `./data` and `s3://data` do not.
_BEFORE = r"(?<![\w.~})-])(?<!\w:/)"
_AFTER = r"(?![\w.-])"


class PathMap:
    """Paths inside the pod -> folders outside."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {path.rstrip("/"): folder for path, folder in folders.items() if path.rstrip("/")}
        longest_first = sorted(self._folders, key=len, reverse=True)
        self._pattern = re.compile(_BEFORE + "(" + "|".join(map(re.escape, longest_first)) + ")" + _AFTER)

    def rewrite(self, text: str) -> str:
        """The text with every mapped path in it replaced."""
        if "/" not in text:
            return text
        return self._pattern.sub(lambda match: str(self._folders[match[1]]), text)

    def outside(self, path: str) -> Path:
        """Where a path inside the pod lies. Raises OutsideError for one that is not mapped."""
        whole = path.rstrip("/")
        for prefix in sorted(self._folders, key=len, reverse=True):
            if whole == prefix or whole.startswith(prefix + "/"):
                return within(self._folders[prefix], whole[len(prefix) + 1 :])
        raise OutsideError(f"path {path!r} is not the pod's own; declare a mount or an artifact that holds it")
