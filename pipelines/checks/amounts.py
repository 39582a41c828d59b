"""Values: small enough to travel, finite, and of characters that survive."""

import json
import re
import unicodedata
from collections.abc import Iterator

from argosy.pipelines.checks.view import Json, View, containers, parameters
from argosy.pipelines.errors import Problem

WORD_LIMIT = 131_072
"""Bytes that one argument of a process can have, the NUL at its end among them (execve(2): MAX_ARG_STRLEN)."""

MANIFEST_LIMIT = 1_000_000
"""Bytes of a workflow with room for its status; etcd refuses more than 1.5 MiB in all."""

_PARAMETER = re.compile(r"\{\{(?:inputs|workflow)\.parameters\.([-\w]+)\}\}")
_JSON_ESCAPES = frozenset("\b\f\n\r\t")


def parameter_sizes(view: View) -> Iterator[Problem]:
    """Every value fits into the argument that passes it on: `--name=value`, or what the pods write around it."""
    around: dict[str, int] = {}
    for _, word in _words(view):
        for tag in _PARAMETER.finditer(word):
            around[tag[1]] = max(around.get(tag[1], 0), len(word.encode()) - len(tag[0]))
    for where, value in _values(view):
        name = where.rpartition(".")[2]
        yield from _too_long(where, value, max(around.get(name, 0), len(f"--{name}=")))


def word_sizes(view: View) -> Iterator[Problem]:
    """Every word that a pod starts with fits into an argument."""
    for where, word in _words(view):
        yield from _too_long(where, word, 0)


def _words(view: View) -> Iterator[tuple[str, str]]:
    for where, container in containers(view):
        for key in ("command", "args"):
            for word in container.get(key) or []:
                yield f"{where}.{key}", word


def _too_long(where: str, text: str, before: int) -> Iterator[Problem]:
    size = len(text.encode())
    surplus = before + size + 1 - WORD_LIMIT
    if surplus > 0:
        what = f"has {size:,} bytes, {surplus:,} more than fit into an argument"
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
