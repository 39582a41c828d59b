"""A DVC remote, written as `dvc push` leaves it, without DVC: quick for many files."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Dataset:
    """A folder under DVC."""

    hash: str
    """DVC's, with `.dir`."""
    files: int
    bytes: int
    objects: dict[str, str]
    """Path in the folder -> md5."""

    def dvc_file(self, name: str) -> str:
        """The text of NAME.dvc, beside which git ignores the folder NAME."""
        fields = {"md5": self.hash, "size": self.bytes, "nfiles": self.files, "hash": "md5", "path": name}
        lines = [f"{'- ' if number == 0 else '  '}{key}: {value}" for number, (key, value) in enumerate(fields.items())]
        return "\n".join(["outs:", *lines, ""])


def write(remote: Path, files: Iterable[tuple[str, bytes]]) -> Dataset:
    """A folder's files (path, content) in the remote whose objects lie beneath this folder."""
    objects: dict[str, str] = {}
    total = 0
    for path, content in files:
        objects[path] = add(remote, content)
        total += len(content)
    listing = [{"md5": objects[path], "relpath": path} for path in sorted(objects, key=lambda one: one.split("/"))]
    name = add(remote, json.dumps(listing).encode(), suffix=".dir")
    return Dataset(f"{name}.dir", len(objects), total, objects)


def add(remote: Path, content: bytes, suffix: str = "") -> str:
    """One object, named by its md5, which is returned."""
    md5 = hashlib.md5(content).hexdigest()
    target = place(remote, md5 + suffix)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return md5


def place(remote: Path, md5: str) -> Path:
    """Where an object lies; a listing's md5 ends in `.dir`."""
    return remote / "files" / "md5" / md5[:2] / md5[2:]
