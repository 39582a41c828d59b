"""What the user calls a pipeline -> the manifest to run: a name, a Python file, a manifest, or standard input."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.pipelines.commands import place
from argosy.pipelines.commands.mistake import Mistake, unknown

if TYPE_CHECKING:
    from argosy.pipelines.load import Definition

FOLDERS = ("pipelines", ".")
"""Where in a project a pipeline's name is looked for."""

MANIFESTS = (".yaml", ".yml", ".json")
DEFINITION = re.compile(rb"^(?:with|\w[^=\n]*=)\s.*?(?:Pipeline|Workflow|WorkflowTemplate)\(", re.MULTILINE)
"""A Python file that holds such a statement at module level is offered as a pipeline."""


@dataclass(frozen=True)
class Source:
    """A Python file with the variable to take from it, or a manifest; no path is standard input."""

    path: Path | None
    variable: str | None = None

    @property
    def is_python(self) -> bool:
        return self.path is not None and self.path.suffix == ".py"

    @cached_property
    def definition(self) -> "Definition":
        """What a Python file defines. Raises LoadError."""
        from argosy.pipelines.load import load

        assert self.path is not None
        return load(self.path, self.variable)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """What is wrong with the manifest is told with its name. Raises Mistake."""
        from argosy.pipelines.manifest import ManifestError

        try:
            yield
        except ManifestError as error:
            raise Mistake(f"{self.path or 'standard input'}: {error}") from error

    def manifest(self) -> str:
        """The manifest's text, compiled if it has to be. Raises Refusal, Mistake."""
        if self.is_python:
            from argosy.pipelines.compile import compiled

            return compiled(self.definition.workflow, place.project())
        try:
            return (sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()).decode()
        except UnicodeDecodeError as error:
            raise Mistake(f"{self.path or 'standard input'} is no text; name a manifest in YAML or JSON") from error


def find(word: str) -> Source:
    """What a word names. Raises Mistake."""
    if word == "-":
        if sys.stdin.isatty():
            raise Mistake("- reads a manifest from standard input, which is a terminal; pipe a manifest into it")
        return Source(None)
    path, variable = _split(word)
    if path.suffix in (".py", *MANIFESTS):
        if not path.is_file():
            raise Mistake(f"there is no file {path}; name a pipeline, a Python file or a manifest")
        return Source(path, variable)
    if os.sep in word or path.is_file():
        what = "is no pipeline and no manifest" if path.exists() else "is not there"
        raise Mistake(f"{path} {what}; name a pipeline, a Python file (.py) or a manifest ({', '.join(MANIFESTS)})")
    found = _files().get(_name(word))
    if found is None:
        known = available()
        where = f"write pipelines/{word}.py in {place.project()}, or name a file"
        raise unknown("pipeline", word, known, f"there are {', '.join(sorted(known))}" if known else where)
    return Source(found)


def available() -> dict[str, Path]:
    """The project's pipelines by name."""
    return {name: path for name, path in _files().items() if DEFINITION.search(path.read_bytes())}


def _files() -> dict[str, Path]:
    """The Python files among which pipelines are looked for, by the name that a pipeline in them has."""
    folders = [place.project() / folder for folder in reversed(FOLDERS)]
    return {_name(path.stem): path for folder in folders for path in sorted(folder.glob("*.py"))}


def _name(stem: str) -> str:
    """Pipelines are named with dashes, modules with underscores."""
    return stem.replace("_", "-")


def _split(word: str) -> tuple[Path, str | None]:
    """`FILE.py:variable`."""
    file, mark, variable = word.rpartition(":")
    return (Path(file), variable) if mark and file.endswith(".py") else (Path(word), None)
