"""Quantities and durations as text."""

import re
from decimal import Decimal

_CPU = re.compile(r"\d+(\.\d{1,3})?|\d+m")
_BYTES = re.compile(r"(\d+(?:\.\d+)?)(k|[KMGTPE]i|[MGTPE])?")
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def cpu(value: object) -> str:
    """CPUs as Kubernetes writes them. Raises ValueError."""
    text = str(value)
    if isinstance(value, bool) or not _CPU.fullmatch(text) or float(text.rstrip("m")) == 0:
        raise ValueError(
            f"{value!r} is no number of CPUs; give a number such as 2 or 0.5, or thousandths such as '500m'"
        )
    return text


def cpus(text: str | float) -> float:
    """The CPUs of `cpu`'s text."""
    number = str(text)
    return float(number.removesuffix("m")) / (1000 if number.endswith("m") else 1)


def memory(text: str) -> str:
    """Bytes as Kubernetes writes them. Raises ValueError.

    Kubernetes also takes `400m`, thousandths of a byte, which is always a slip for `400M` and refused here.
    """
    if not _BYTES.fullmatch(text):
        raise ValueError(f"{text!r} is no amount of memory; give one such as '512Mi' or '4Gi'")
    return text


def space(text: str) -> str:
    """Bytes of a disk as Kubernetes writes them, more than none. Raises ValueError."""
    if not _BYTES.fullmatch(text) or byte_count(text) == 0:
        raise ValueError(f"{text!r} is no amount of space; give one such as '500Gi' or '2Ti'")
    return text


def byte_count(text: str) -> int:
    """The bytes of `memory`'s or `space`'s text."""
    found = _BYTES.fullmatch(text)
    assert found, "it was checked"
    number, unit = found.groups(default="")
    power = " KMGTPE".index(unit[:1].upper() or " ")
    return int(Decimal(number) * (1024 if unit.endswith("i") else 1000) ** power)


def seconds(duration: str) -> float:
    """The seconds of a duration in Go's notation: `90s`, `1m30s`, `2h`, `0`. Raises ValueError."""
    parts = _DURATION.findall(duration)
    if duration != "0" and (not parts or "".join(number + unit for number, unit in parts) != duration):
        raise ValueError(f"{duration!r} is no duration; give one such as '90s', '1m30s' or '2h'")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def pause_seconds(text: str) -> float:
    """The seconds of a retry's pause: a bare number is seconds (argo: pkg/apis/workflow/v1alpha1/utils.go:9).

    Raises ValueError.
    """
    return float(text) if text.isdecimal() else seconds(text)


def duration(text: str) -> str:
    """A duration longer than none. Raises ValueError."""
    if seconds(text) == 0:
        raise ValueError(f"{text!r} is no time at all; give one such as '90s', '1m30s' or '2h'")
    return text
