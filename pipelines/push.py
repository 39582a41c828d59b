"""Which pushes to a git repository start a run."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from argosy.pipelines.nouns import Noun
from argosy.steps import base

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\\^\[\]{}!~:\"]")
"""What git forbids in a branch's name, and what other tools give a meaning of their own in a pattern."""


def _pattern(text: str) -> str:
    if found := _UNUSABLE.search(text):
        raise ValueError(f"{text!r} holds {found.group()!r}; write names with *, ** and ?, such as 'release/*'")
    if not text or text != text.strip():
        raise ValueError(f"{text!r} is empty, or begins or ends with a space; write a name such as 'release/*'")
    if text.startswith(("refs/", "/", "./")) or text.endswith("/"):
        fit = re.sub(r"^(refs/(heads|tags)/|\.?/)", "", text)
        fit = f"{fit}**" if fit.endswith("/") else fit
        raise ValueError(f"{text!r} matches no name as git writes it; write {fit!r}")
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]
"""A name in which `*` is text without a slash, `**` any text, `**/` folders or none, `?` a character but a slash."""


class OnPush(Noun):
    """Which pushes start a run: to one of the branches, touching one of the paths, or of one of the tags.

    Without a repository's name, those of each that knows the webhook's secret.
    """

    branches: Sequence[Pattern] = Field(
        default=("main",), description="branches, `*` standing for text without a slash", examples=[["main"]]
    )
    tags: Sequence[Pattern] = Field(default=(), description="tags, whatever they touch", examples=[["v*"]])
    paths: Sequence[Pattern] = Field(
        default=(),
        description="files of which a push to a branch must touch one; none given: any",
        examples=[["dvc.lock", "pipelines/**"]],
    )
    repository: str | None = Field(
        default=None,
        pattern=r"^[\w.-]+(/[\w.-]+)*$",
        description="repository's whole name",
        examples=["vision/digits"],
    )

    @model_validator(mode="after")
    def _starts_something(self) -> "OnPush":
        if not self.branches and not self.tags:
            raise ValueError("no branch and no tag starts a run; give branches=['main'], or leave on_push out")
        if self.paths and not self.branches:
            raise ValueError("paths are asked of pushes to branches, and there are none; leave paths out")
        return self


def expression(patterns: Sequence[str]) -> str:
    """A regular expression, of Go's and Python's alike, that one of the patterns fits from end to end."""
    return f"({'|'.join(map(base.expression, patterns))})"
