"""What every contract is made of: a frozen model that refuses unknown fields, and the texts that several have."""

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat


class Contract(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Md5 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}(\.dir)?$")]
Share = Annotated[FiniteFloat, Field(gt=0, lt=1)]


def checked_by(read: Callable[[str], object], *, unless_empty: bool = False) -> Callable[[str], str]:
    """A validator of text that another reads: it refuses what that refuses."""

    def check(text: str) -> str:
        if text or not unless_empty:
            read(text)
        return text

    return check
