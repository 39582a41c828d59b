"""Values: small enough to travel, finite, and of characters that survive."""

import json
import unicodedata
from collections.abc import Iterator

from argosy.pipelines.checks.view import Json, View, parameters
from argosy.pipelines.errors import Problem

PARAMETER_LIMIT = 131_072
"""Bytes that one argument of a process can have, and so one parameter (argo: workflow/common/common.go:246)."""

MANIFEST_LIMIT = 1_000_000
"""Bytes of a workflow with room for its status; etcd refuses more than 1.5 MiB in all."""

_JSON_ESCAPES = frozenset("\b\f\n\r\t")


def parameter_sizes(view: View) -> Iterator[Problem]:
    """No value is too long for a command line."""
    for where, value in _values(view):
        size = len(value.encode())
        if size > PARAMETER_LIMIT:
            what = f"has {size:,} bytes, {size - PARAMETER_LIMIT:,} more than fit into an argument"
            yield Problem(where, what, "pass it as an artifact")


def manifest_size(view: View) -> Iterator[Problem]:
    """The whole fits into the cluster's database, with its status."""
    size = _size(view.manifest)
    if size > MANIFEST_LIMIT:
        parts = {f"templates.{one.get('name', 'inline')}": _size(one) for one in view.spec.get("templates") or []}
        parts |= {f"arguments.{one.get('name')}": _size(one) for one in parameters(view.spec.get("arguments"))}
        largest, share = max(parts.items(), key=lambda part: part[1], default=("spec", size))
        what = f"has {size:,} bytes, more than {MANIFEST_LIMIT:,}; of these {largest} has {share:,}"
        yield Problem("the manifest", what, "loop over a list, or pass data as an artifact")


def finite_numbers(view: View) -> Iterator[Problem]:
    """No value is NaN or infinite: neither is JSON, and no comparison with NaN ever fails a gate."""
    for where, value in _values(view):
        if value in ("NaN", "Infinity", "-Infinity"):
            yield Problem(where, f"{value} is not finite", "give a finite number")


def characters(view: View) -> Iterator[Problem]:
    """No value holds characters that Argo makes invalid JSON of (argo-workflows#15512)."""
    for where, value in _values(view):
        harmful = next((one for one in value if _is_harmful(one)), None)
        if harmful:
            what = f"holds U+{ord(harmful):04X}, which Argo cannot pass on"
            yield Problem(where, what, "remove it, or encode the value with argosy.steps.values.encode")


def _is_harmful(character: str) -> bool:
    r"""Whether Go's strconv.Quote writes it as `\x..`, `\a`, `\v` or `\U........`, which JSON lacks."""
    if character.isprintable() or character in _JSON_ESCAPES:
        return False
    return ord(character) < 0x80 or (ord(character) > 0xFFFF and unicodedata.category(character) != "Zs")


def _values(view: View) -> Iterator[tuple[str, str]]:
    """Every parameter's value, with its place."""
    for one in parameters(view.spec.get("arguments")):
        yield from _of(f"arguments.{one.get('name')}", one)
    for template in view.templates:
        for one in parameters(template.get("inputs")):
            yield from _of(f"templates.{template.get('name', 'inline')}.inputs.{one.get('name')}", one)
    for invocation in view.invocations:
        for one in invocation.arguments:
            yield from _of(f"{invocation.where}.{one.get('name')}", one)


def _of(where: str, parameter: Json) -> Iterator[tuple[str, str]]:
    for key in ("value", "default"):
        if isinstance(parameter.get(key), str):
            yield where, parameter[key]


def _size(part: object) -> int:
    return len(json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode())
