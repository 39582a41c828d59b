"""What a project says of its images: in pyproject.toml and in requirements.lock."""

import re
import tomllib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated

import msgspec

from argosy.pipelines.errors import Problem, Refusal

LOCK = "requirements.lock"
ARGOSY = "argosy"
PODS_EXTRA = "steps"
"""The extra of argosy's that pods need."""

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+([._/-][a-z0-9]+)*$")]
"""Of an image, without registry and tag."""

ProjectName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")]
"""https://packaging.python.org/en/latest/specifications/name-normalization/"""

Version = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""As far as a tag can hold it."""

FREEZE = f"`argosy images freeze` writes {LOCK}; then commit it"


class Project(msgspec.Struct, frozen=True):
    """The table [project]."""

    name: ProjectName
    version: Version
    python: str = msgspec.field(name="requires-python", default=">=3.11")
    dependencies: Sequence[str] = ()
    optional: dict[str, list[str]] = msgspec.field(name="optional-dependencies", default_factory=dict)


class Images(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table [tool.argosy.images]."""

    name: Name | None = None
    """Of the image, if it is not the project's."""
    extras: Sequence[str] = ()
    """Extras of the project that pods need."""


class Argosy(msgspec.Struct, frozen=True):
    """The table [tool.argosy]."""

    images: Images = Images()


class Tool(msgspec.Struct, frozen=True):
    """The table [tool]."""

    argosy: Argosy = Argosy()


class Definition(msgspec.Struct, frozen=True):
    """A pyproject.toml, as far as images go."""

    project: Project
    tool: Tool = Tool()

    @classmethod
    def of(cls, folder: Path) -> "Definition":
        """Raises Refusal for a pyproject.toml that is missing or wrong."""
        file = folder / "pyproject.toml"
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
            if "project" not in document:
                raise Refusal([Problem(str(file), "has no table [project]", "give it a name and a version")])
            found = msgspec.convert(document, cls)
        except FileNotFoundError:
            raise Refusal([Problem(str(file), "is not there", "images need the project's name and version")]) from None
        except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            raise Refusal([Problem(str(file), str(error), "correct it")]) from None
        if unknown := next((one for one in found.images.extras if one not in found.project.optional), None):
            what = f"tool.argosy.images.extras names {unknown!r}, which is no extra of the project"
            raise Refusal([Problem(str(file), what, "correct it")])
        return found

    @property
    def images(self) -> Images:
        return self.tool.argosy.images

    @property
    def image(self) -> str:
        """The image's name, as a pipeline names it."""
        return f"{self.images.name or self.project.name.lower()}:{self.project.version}"

    @property
    def oldest_python(self) -> str:
        """`3.11`: the first version that `requires-python` names."""
        found = re.search(r"\d+\.\d+", self.project.python)
        return found[0] if found else "3.11"

    def requirements(self) -> list[str]:
        """What pods import, and with it come their own requirements: the project's, and those of argosy's steps.

        argosy itself is not among them: its code is copied from the installation that builds.
        """
        own = [*self.project.dependencies, *(line for one in self.images.extras for line in self.project.optional[one])]
        own = [line for line in own if _name(line) != ARGOSY]
        return sorted({*own, *([] if self.project.name == ARGOSY else _argosys())})


def locked(folder: Path) -> str:
    """The text of requirements.lock. Raises Refusal where it is missing, or cannot be installed from."""
    file = folder / LOCK
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Refusal([Problem(str(file), "is not there, and images hold frozen versions alone", FREEZE)]) from None
    except UnicodeDecodeError:
        raise Refusal([Problem(str(file), "is no text", FREEZE)]) from None
    if not re.search(r"^uv==", text, re.MULTILINE):
        raise Refusal([Problem(str(file), "pins no uv, which installs the rest", FREEZE)])
    return text


def _argosys() -> list[str]:
    """The requirements of argosy's own, for pods."""
    lines = [line.replace(" ", "") for line in metadata.requires(ARGOSY) or []]
    marked = [line.partition(";") for line in lines]
    return [name for name, _, marker in marked if marker in ("", f'extra=="{PODS_EXTRA}"')]


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    return found[0].lower() if found else ""
