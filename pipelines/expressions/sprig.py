"""Sprig functions that occur in Argo's and Hera's examples and documents (github.com/Masterminds/sprig v3.3.0).

Sprig has two hundred more: a workflow that uses one of them is told so.
"""

import base64
import binascii
import math
import re
import time
from collections.abc import Callable
from typing import Any

from argosy.pipelines.expressions import dates, golang

_DECIMAL = re.compile(r"([-+]?[0-9]*)(\.[0-9]*)?")
_LITERAL = re.compile(r"[-+]?(0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO]?(_?[0-7])+|[1-9](_?[0-9])*|0)")


def _integer(value: object) -> int:
    """cast.ToInt64: what is no number is 0 (github.com/spf13/cast v1.9.2)."""
    match value:
        case bool() | int():
            return int(value)
        case float():
            return golang.truncated(value)
        case str() if value:
            return _parsed(value)
    return 0


def _parsed(text: str) -> int:
    if "." in text and (decimal := _DECIMAL.fullmatch(text)):
        text = decimal[1] + "0" if decimal[1] in ("", "+", "-") else decimal[1]
    if not _LITERAL.fullmatch(text):
        return 0
    octal = re.sub(r"^([-+]?)0(?=_?[0-7])", r"\g<1>0o", text)
    number = int(octal, 0)
    return number if number == golang.wrapped(number) else 0


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\r", "").replace("\n", "").encode(), validate=True).decode(
            errors="replace"
        )
    except (binascii.Error, ValueError):
        return f"illegal base64 data at input byte {_first_bad_byte(text)}"


def _first_bad_byte(text: str) -> int:
    match = re.match(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", text)
    return match.end() if match else 0


def _truncated(count: int, text: str) -> str:
    data = text.encode()
    part = data[count:] if count < 0 else data[:count]
    return part.decode(errors="replace")


def _date(layout: str, moment: object) -> str:
    is_unix = isinstance(moment, int) and not isinstance(moment, bool)
    return dates.write(layout, moment if is_unix else math.floor(time.time()))  # type: ignore[arg-type]


def _quoted(*values: object) -> str:
    texts = (value if isinstance(value, str) else golang.format_value(value) for value in values if value is not None)
    return " ".join(map(golang.quote, texts))


SPRIG: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("any* > int", lambda *values: golang.wrapped(sum(map(_integer, values)))),
    "min": ("any any* > int", lambda *values: min(map(_integer, values))),
    "max": ("any any* > int", lambda *values: max(map(_integer, values))),
    "int": ("any > int", _integer),
    "trim": ("string > string", lambda text: text.strip(golang.WHITE_SPACE)),
    "upper": ("string > string", golang.upper),
    "trunc": ("int string > string", _truncated),
    "replace": ("string string string > string", lambda old, new, text: text.replace(old, new)),
    "quote": ("any* > string", _quoted),
    "b64dec": ("string > string", _from_base64),
    "date": ("string any > string", _date),
}
"""What each function takes and gives, as expr_types writes it, and what it does."""
