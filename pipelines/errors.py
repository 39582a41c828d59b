"""What is wrong with a definition: where, what, and what to do about it."""

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass

EXCERPT = 200
"""Characters told of a value."""

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = EXCERPT
_repr.maxlevel = 3


def excerpt(value: object) -> str:
    """A value as Python writes it, of a large one the beginning. A value that refers to itself over and over, as YAML's
    aliases make it, is never written out.
    """
    text = _repr.repr(value)
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, told in one line."""

    where: str
    """A field (`Accuracy.at_least`), a place in a manifest (`pipeline.train.seed`) or a line (`dvc.lock:12`)."""

    what: str
    """What was found there, with the value."""

    remedy: str
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.remedy}"


class Refusal(Exception):  # noqa: N818 - the base of errors, named for what it is
    """Something the user wrote cannot be used; every problem is told at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class SpecError(Refusal):
    """A noun was given values that it cannot have."""


class LoadError(Refusal):
    """A file of the user's does not give a pipeline."""


class CompileError(Refusal):
    """A workflow would fail, or would not do what it says, if it ran."""
