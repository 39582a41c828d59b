"""Where pods get the project's code from, if not from their image."""

import re
from typing import Any

from pydantic import Field, field_validator

from argosy.pipelines.nouns import Noun
from argosy.pipelines.placement import ObjectName

CREDENTIALS = re.compile(r"^\w+://[^/]*@")


class Git(Noun):
    """A git repository, from which each pod fetches the project's code at the run's revision.

    The image then needs no rebuilding for a change of code. A revision whose requirements.lock differs from the image's
    is refused.
    """

    repository: str = Field(
        description="address of the repository", examples=["https://git.example.org/team/digits.git"]
    )
    credentials: ObjectName = Field(
        default="argosy-git",
        description="Secret, where it exists, whose entry .netrc holds name and password for the repository's host",
        examples=["argosy-git"],
    )

    def __init__(self, repository: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(repository=repository, **settings)

    @field_validator("repository")
    @classmethod
    def _can_be_fetched(cls, repository: str) -> str:
        if CREDENTIALS.match(repository) and not repository.startswith("ssh:"):
            raise ValueError(
                "the address holds credentials; put them into the .netrc of a Secret, named as credentials"
            )
        if not re.fullmatch(r"(https?|git|file)://[^\s{}]+", repository):
            raise ValueError(f"{repository!r} is no address that a pod can fetch from; give one that begins https://")
        return repository
