"""A manifest with its values, and the name that it gives its run: the same twice is one run, here or on a cluster."""

import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from argosy.pipelines import manifest as m
from argosy.pipelines.expressions.golang import any_string
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import DNS_NAME, NAME_LIMIT, dns_name, suggestion

DIGITS = 8
"""Hexadecimal digits of a run's name."""

MOST = 999
"""Runs of one manifest with the same values."""

_SUFFIX = len("-") + DIGITS + len(f"-{MOST}")


class RunError(ValueError):
    """A run that cannot be begun, gone on with or stopped, with what to do about it."""


def set_values(document: Json, values: Mapping[str, str]) -> None:
    """Give workflow parameters their values. Raises RunError for one that the manifest does not have, or lacks."""
    declared = {p.name: p for p in m.view(document).spec.arguments.parameters}
    for name in values:
        if name not in declared:
            raise RunError(f"parameter {name!r}: the manifest has none of this name; {_hint(name, declared)}")
    for parameter in document["spec"].get("arguments", {}).get("parameters", []):
        if parameter["name"] in values:
            parameter["value"] = values[parameter["name"]]
        allowed = [any_string(value) for value in declared[parameter["name"]].enum or [] if value is not None]
        if allowed and any_string(parameter.get("value") or "") not in allowed:
            what = f"{parameter.get('value')!r} is none of its values"
            raise RunError(f"parameter {parameter['name']!r}: {what}; it takes {', '.join(allowed)}")
        if parameter.get("value") is None and "valueFrom" not in parameter:
            raise RunError(f"parameter {parameter['name']!r} has no value; give one with -p {parameter['name']}=VALUE")


def run_name(document: Json) -> str:
    """The name of the run of a manifest that has its values. Raises RunError."""
    metadata = m.view(document).metadata
    base = metadata.name or metadata.generate_name.rstrip("-") or "run"
    if not DNS_NAME.fullmatch(base):
        raise RunError(f"metadata.name: {base!r} is no name for a workflow; write {dns_name(base) or 'run'!r}")
    content = msgspec.json.encode(document, order="deterministic")
    return f"{base[: NAME_LIMIT - _SUFFIX]}-{hashlib.sha256(content).hexdigest()[:DIGITS]}"


def others(name: str) -> Iterator[str]:
    """The names of further runs of the same."""
    return (f"{name}-{number}" for number in range(2, MOST + 1))


def named(document: Json, name: str) -> Json:
    """The manifest as the run of this name."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "generateName"}
    return {**document, "metadata": {**metadata, "name": name}}


def _hint(name: str, declared: Mapping[str, m.Parameter]) -> str:
    return suggestion(name, declared, f"it has {', '.join(declared) or 'no parameters'}")
