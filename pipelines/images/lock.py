"""images.lock: which image, by its digest, a manifest names in place of a tag."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from argosy.pipelines.errors import Problem, Refusal
from argosy.pipelines.project import project_of

FILE = "images.lock"
HEAD = "# The image that a manifest names in place of each tag. Written by `argosy images lock`; commit it.\n"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An image as it is in a registry."""

    reference: str
    """`REGISTRY/NAME@sha256:...`."""
    revision: str
    """The commit whose files it holds."""


def entries(file: Path) -> dict[str, Entry]:
    """Image as pipelines name it -> what it is in a registry. Raises Refusal for a file that says no such thing."""
    try:
        text = file.read_text(encoding="utf-8")
        return msgspec.convert(tomllib.loads(text), dict[str, Entry])
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise Refusal(
            [Problem(str(file), str(error), "remove it; `argosy images push` and `argosy images lock` write it")]
        ) from None


def write(file: Path, images: Mapping[str, Entry]) -> None:
    """The same entries give the same bytes."""
    tables = [f"\n[{json.dumps(name)}]\n{_fields(images[name])}" for name in sorted(images)]
    file.parent.mkdir(exist_ok=True)
    temporary = file.with_name(f".{file.name}.part")
    temporary.write_text(HEAD + "".join(tables), encoding="utf-8")
    temporary.replace(file)


def entry(image: str) -> Entry | None:
    """What the project that the user stands in has recorded for an image. Raises Refusal."""
    return entries(project_of(Path.cwd() / FILE) / FILE).get(image)


def baked_revision(reference: str, folder: Path) -> str | None:
    """The commit whose files an image holds, where a project's lock names it by this reference. Raises Refusal."""
    known = entries(folder / FILE).values()
    return next((one.revision for one in known if one.reference == reference), None)


def pinned(image: str) -> str:
    """The image by its digest, where the lock has it; else as it is. Raises Refusal."""
    found = entry(image)
    return found.reference if found else image


def _fields(one: Entry) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in msgspec.structs.asdict(one).items())
