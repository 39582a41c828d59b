"""Which data a run has: the datasets as they are asked for, and pinned as DVC records them at one revision."""

import hashlib
import json
from collections import Counter
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from argosy.steps.base import Contract, Md5


class Source(Contract):
    """A dataset under DVC, or some of its files."""

    path: str = Field(min_length=1, description="path that dvc.lock or a .dvc file names, relative to the project")
    name: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9_][\w.-]*)?$",
        description="folder that holds it beside a run's other datasets; empty: the last part of its path",
    )
    only: tuple[str, ...] = Field(
        default=(), description="patterns of the files to stage, as in `train-*.tar`; none: every file"
    )

    @property
    def folder(self) -> str:
        return self.name or PurePosixPath(self.path).name


def sources(text: str) -> tuple[Source, ...]:
    """The datasets that a text names: one by its path, or any by a JSON list of sources.

    Raises ValueError that says what is wrong with it.
    """
    try:
        found = _SOURCES.validate_json(text) if text.lstrip().startswith(("[", "{")) else (Source(path=text),)
    except ValidationError as error:
        detail = error.errors()[0]
        at = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
        raise ValueError(f"{at + ': ' if at else ''}{_said(detail)}; {FORM}") from None
    folders = Counter(source.folder for source in found)
    if twice := [name for name, count in folders.items() if count > 1]:
        raise ValueError(f"several datasets are named {twice[0]!r}; give each a name of its own")
    return found


_SOURCES = TypeAdapter(Annotated[tuple[Source, ...], Field(min_length=1)])

FORM = 'write a path, or a list such as [{"path": "data/digits", "only": ["train-*.tar"], "name": "digits"}]'

_SAID = {
    "missing": "is missing",
    "extra_forbidden": "there is no such field",
    "string_pattern_mismatch": "is no name for a folder: letters, digits, `.`, `_` and `-`",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "tuple_type": "is no list",
    "string_type": "is no text",
}
"""pydantic's error types -> the same in few words."""


def _said(detail: ErrorDetails) -> str:
    return _SAID.get(detail["type"], detail["msg"][:1].lower() + detail["msg"][1:])


FOLDER = "file://localhost"
"""Before an absolute path. A path alone would be one of the pod's own to whoever runs pods as processes."""


class Remote(Contract):
    """Where a DVC remote keeps its objects. Keys and tokens are no part of it: the environment holds them."""

    name: str = Field(description="the remote's name in DVC's configuration")
    url: str = Field(
        description="s3://, gs:// or azure:// and bucket and prefix; file://localhost and path, or path in project"
    )
    endpoint: str = Field(default="", description="address of an S3-compatible server; the environment's comes first")
    region: str = Field(default="", description="S3 region; the environment's comes first")
    account: str = Field(default="", description="Azure storage account; the environment's comes first")

    @property
    def title(self) -> str:
        """For a person. What is no remote of DVC's has no name there, and goes by its address."""
        return f"DVC remote {self.name}" if self.name else self.url


class PinnedSource(Source):
    """A dataset as DVC records it at one revision."""

    hash: Md5 = Field(description="DVC's md5 of the dataset: it pins every byte")
    files: int | None = Field(default=None, description="files in the whole dataset; none: DVC does not say")
    bytes: int | None = Field(default=None, description="bytes in the whole dataset; none: DVC does not say")
    remote: Remote

    @property
    def is_folder(self) -> bool:
        return self.hash.endswith(".dir")

    @property
    def file(self) -> str:
        """The name of the one file that it is; empty: it is a folder."""
        return "" if self.is_folder else PurePosixPath(self.path).name


class Pin(Contract):
    """All that a pod must know to stage a run's data: with it, a pod needs neither git nor DVC."""

    dataset: str = Field(description="the datasets as they were asked for")
    revision: str = Field(description="git revision whose DVC files were read; empty, or ending in -dirty: as on disk")
    sources: tuple[PinnedSource, ...] = Field(min_length=1)

    @property
    def hash(self) -> str:
        """What names these files: DVC's own hash of one whole folder, else one of all hashes, names and patterns.

        DVC's hash of a folder knows the names of its files, that of a single file does not know its own.
        """
        first = self.sources[0]
        if len(self.sources) == 1 and first.is_folder and not first.only:
            return first.hash
        lines = sorted(json.dumps([one.folder, one.hash, one.only, one.file]) for one in self.sources)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def key(dataset_hash: str, part: str = "") -> str:
    """What names data, or a part of it (`0/4`), in a node's cache."""
    return dataset_hash.removesuffix(".dir") + (f"-{part.replace('/', 'of')}" if part else "")
