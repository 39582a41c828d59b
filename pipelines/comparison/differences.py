"""What two trainings differ in, under the headings by which a person looks for the cause."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from argosy.pipelines.comparison.origin import Origin
from argosy.pipelines.manifest import Json

if TYPE_CHECKING:
    from argosy.steps.pins import Pin

NOT_KNOWN = "not known"
NONE = "none"


class Heading(StrEnum):
    """In the order in which a cause is looked for."""

    CODE = "code"
    DATA = "data"
    PARAMETERS = "parameters"
    MANIFEST = "manifest"
    IMAGE = "image"
    PACKAGES = "packages"
    MACHINE = "machine"
    RESULT = "result"


@dataclass(frozen=True)
class Difference:
    heading: Heading
    what: str
    """`data/digits/train-000003.tar`, `epochs`; empty: the heading says it."""
    left: str
    right: str


Itemise = Callable[["Pin"], Mapping[str, str]]
"""Pinned data -> its files, path -> md5."""


def differences(left: Origin, right: Origin, itemise: Itemise) -> list[Difference]:
    """All that is known to differ. `itemise` is asked only where the data does."""
    return [
        *_one(Heading.CODE, "commit", left.revision, right.revision),
        *_data(left.pin, right.pin, itemise),
        *_entries(Heading.PARAMETERS, left.parameters, right.parameters),
        *_manifest(left.templates, right.templates),
        *_one(Heading.IMAGE, "", left.image, right.image),
        *_packages(left.packages, right.packages),
        *_one(Heading.MACHINE, "", left.machine, right.machine),
        *_result(left, right),
    ]


def _one(heading: Heading, what: str, left: str, right: str) -> Iterator[Difference]:
    if left != right:
        yield Difference(heading, what, left or NOT_KNOWN, right or NOT_KNOWN)


def _entries(
    heading: Heading, left: Mapping[str, str], right: Mapping[str, str], absent: str = NONE
) -> Iterator[Difference]:
    for name in sorted({*left, *right}):
        if left.get(name) != right.get(name):
            yield Difference(heading, name, left.get(name, absent), right.get(name, absent))


def _packages(left: Mapping[str, str], right: Mapping[str, str]) -> Iterator[Difference]:
    """Nothing where one side does not know its own: a run's are known once its model is registered."""
    if left and right:
        yield from _entries(Heading.PACKAGES, left, right)


def _data(left: "Pin | None", right: "Pin | None", itemise: Itemise) -> Iterator[Difference]:
    """File by file."""
    if left is None or right is None:
        yield from _one(Heading.DATA, "", left.hash if left else "", right.hash if right else "")
    elif left.hash != right.hash:
        files = list(_entries(Heading.DATA, itemise(left), itemise(right)))
        yield from files or _one(Heading.DATA, "names and patterns", left.hash, right.hash)


def _manifest(left: Mapping[str, Json], right: Mapping[str, Json]) -> Iterator[Difference]:
    """Argument by argument, field by field; the image has a heading of its own."""
    if left and right:
        yield from _parts(dict(left), dict(right), "")


def _parts(left: Any, right: Any, path: str) -> Iterator[Difference]:  # noqa: ANN401 - any part of a manifest
    """A part that only one side has is one difference, whatever is in it."""
    if left == right:
        return
    before, after = _named(left), _named(right)
    if before is None or after is None:
        yield Difference(Heading.MANIFEST, path, _brief(left), _brief(right))
        return
    for name in (*before, *(name for name in after if name not in before)):
        yield from _parts(before.get(name), after.get(name), f"{path}{'' if name[0] == '[' else '.'}{name}".lstrip("."))


def _named(part: Any) -> dict[str, Any] | None:  # noqa: ANN401 - any part of a manifest
    """Name -> what it holds; None where it holds nothing. Items and arguments go by their names, so that one more does
    not move the others.
    """
    if isinstance(part, dict):
        return {str(key): value for key, value in part.items() if key != "image"}
    return dict(_item(index, one) for index, one in enumerate(part)) if isinstance(part, list) else None


def _item(index: int, item: Any) -> tuple[str, Any]:  # noqa: ANN401 - any part of a manifest
    if isinstance(item, dict) and "name" in item:
        return f"[{item['name']}]", item
    name, mark, value = item.partition("=") if isinstance(item, str) else ("", "", "")
    return (f"[{name}]", value) if mark and name.startswith("--") else (f"[{index}]", item)


def _brief(part: Any) -> str:  # noqa: ANN401 - any part of a manifest
    return "there" if isinstance(part, dict | list) else NONE if part is None else str(part)


def _result(left: Origin, right: Origin) -> Iterator[Difference]:
    yield from _one(Heading.RESULT, "model sha256", left.model_hash, right.model_hash)
    for name in sorted(left.training.keys() & right.training.keys()):  # a recipe holds more than a run's outputs tell
        yield from _one(Heading.RESULT, name, f"{left.training[name]:.6g}", f"{right.training[name]:.6g}")
    before, after = ({gate: _shown(verdict) for gate, verdict in one.verdicts.items()} for one in (left, right))
    yield from _entries(Heading.RESULT, before, after)


def _shown(verdict: Any) -> str:  # noqa: ANN401 - a Verdict, whose import costs pydantic's
    estimate = "no number" if verdict.estimate is None else f"{verdict.estimate:.6g}"
    return f"{verdict.answer}, {verdict.metric} {estimate}"
