"""What every contract is made of: a frozen model that refuses unknown fields, and the texts that several have."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat


class Contract(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Md5 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}(\.dir)?$")]
Share = Annotated[FiniteFloat, Field(gt=0, lt=1)]
Split = Literal["train", "validation", "test"]
Task = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
"""An import string, `module:name`."""


class StepInput(Contract):
    """What every step takes."""

    output: Path = Field(description="folder that receives the step's outputs and its record.json")


class StepOutput(Contract):
    """What every step gives."""

    summary: str = Field(description="what came out, in one line that a person reads in the Argo UI")
    seconds: FiniteFloat = Field(description="wall time of the step's work")


class DataInput(StepInput):
    """A step that reads a staged dataset and a model store."""

    task: Task = Field(description="the user's task, `module:Class`")
    cache: Path = Field(description="the node's cache, read only")
    dataset_hash: Md5 = Field(description="which dataset under CACHE/datasets")
    models: Path = Field(description="the store of checkpoints and exported models")


def checked_by(read: Callable[[str], object], *, unless_empty: bool = False) -> Callable[[str], str]:
    """A validator of text that another reads: it refuses what that refuses."""

    def check(text: str) -> str:
        if text or not unless_empty:
            read(text)
        return text

    return check


_MARKS = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_MARK = re.compile(r"\*\*/|\*\*|\*|\?")


def expression(pattern: str) -> str:
    """A regular expression, of Go's and Python's alike, for a path or a branch from end to end.

    `*` is text without a slash, `**` any text, `**/` folders or none, `?` a character but a slash.
    """
    names, marks = _MARK.split(pattern), [*_MARK.findall(pattern), ""]
    return "".join(_literal(name) + _MARKS.get(mark, "") for name, mark in zip(names, marks, strict=True))


def _literal(text: str) -> str:
    """A class of one character in place of a backslash, which another language's quotes would need to escape; but for
    those that mean something within a class, too.
    """
    return re.sub(r"[.$|()+{}]|([][\\^])", lambda found: f"\\{found[1]}" if found[1] else f"[{found[0]}]", text)
