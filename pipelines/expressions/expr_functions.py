"""Built-in functions of expr-lang (github.com/expr-lang/expr v1.17.7, builtin/) and of Argo (util/expr/env/env.go:13).

A signature is `parameter types > result type`, in the words of expr_types; `same` and `element` are the type of the
first argument and of its elements, and `*` after the last parameter lets it be given any number of times.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from argosy.pipelines.expressions import golang
from argosy.pipelines.expressions.errors import ExpressionError, UnsupportedExpression
from argosy.pipelines.expressions.expr_values import (
    elements,
    equal,
    fetch,
    integer,
    is_number,
    less,
    number,
    rounded,
    text,
    type_name,
)
from argosy.pipelines.expressions.sprig import SPRIG

PREDICATES = {
    "all": "ep", "none": "ep", "any": "ep", "one": "ep", "filter": "ep", "map": "ep", "count": "eP", "sum": "eP",
    "find": "ep", "findIndex": "ep", "findLast": "ep", "findLastIndex": "ep", "sortBy": "epE", "reduce": "epE",
}  # fmt: skip
"""Functions that take a predicate. Arguments: `e` is an expression, `p` a predicate, and a capital may be left out."""

UNSUPPORTED = frozenset(
    {
        "splitAfter", "repeat", "mean", "median", "now", "duration", "date", "timezone", "get", "take", "toPairs",
        "fromPairs", "groupBy", "bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr", "bitushr", "bitnot",
    },
)  # fmt: skip
"""Built-ins that a workflow may use on a cluster and that are not written here."""

Function = Callable[..., Any]


def _length(value: object) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    raise ExpressionError(f"invalid argument for len (type {type_name(value)})")


def _absolute(value: object) -> float:
    size: float = abs(number(value))
    return golang.wrapped(size) if isinstance(size, int) else size


def to_integer(value: object) -> int:
    if not isinstance(value, str):
        return integer(value)
    whole = golang.parse_integer(value)
    if whole is None:
        raise ExpressionError(f"invalid operation: int({value})")
    return whole


def to_float(value: object) -> float:
    if not isinstance(value, str):
        return float(number(value))
    parsed = golang.parse_float(value)
    if parsed is None:
        raise ExpressionError(f"invalid operation: float({value})")
    return parsed


def _rounding(way: str) -> Function:
    return lambda value: rounded(float(number(value)), way)


def _trim(value: str, cut: str = golang.WHITE_SPACE) -> str:
    return text(value).strip(text(cut)) if cut else text(value)


def _split(value: str, separator: str, most: int = -1) -> list[str]:
    value, separator, most = text(value), text(separator), integer(most)
    if most == 0:
        raise UnsupportedExpression("unsupported: split into no pieces")
    if separator:
        return value.split(separator, most - 1 if most > 0 else -1)
    pieces = list(value)
    return pieces if most < 0 or len(pieces) <= most else [*pieces[: most - 1], value[most - 1 :]]


def _replace(value: str, old: str, new: str, most: int = -1) -> str:
    return text(value).replace(text(old), text(new), max(integer(most), -1))


def _extreme(prefers: Callable[[Any, Any], bool]) -> Function:
    def best_of(*values: object) -> object:
        if len(values) == 1 and not isinstance(values[0], list):
            return values[0]
        best: object = None
        for value in values:
            for candidate in map(best_of, value) if isinstance(value, list) else [value]:
                if not is_number(candidate):
                    raise ExpressionError(f"invalid argument (type {type_name(candidate)})")
                best = candidate if best is None or prefers(candidate, best) else best
        return best

    return best_of


def _from_base64(value: str) -> str:
    try:
        data = base64.b64decode(text(value).replace("\r", "").replace("\n", "").encode(), validate=True)
    except (binascii.Error, ValueError):
        raise ExpressionError("illegal base64 data") from None
    return data.decode(errors="replace")


def _item(index: int) -> Function:
    return lambda value: fetch(value, index) if isinstance(value, list | str) and value else None


def _entries(part: Callable[[dict[str, object]], list[object]]) -> Function:
    """Go walks a map in random order; here it is the order of its keys."""

    def apply(value: object) -> list[object]:
        if isinstance(value, dict):
            return part({key: value[key] for key in sorted(value)})
        raise ExpressionError(f"cannot get entries from {type_name(value)}")

    return apply


def _unique(values: list[object]) -> list[object]:
    found: list[object] = []
    for value in elements(values):
        if not any(equal(value, known) for known in found):
            found.append(value)
    return found


def _flatten(values: list[object]) -> list[object]:
    flat: list[object] = []
    for value in elements(values):
        flat += _flatten(value) if isinstance(value, list) else [value]
    return flat


class _Rank:
    """A key of a sort, compared as expr compares."""

    __slots__ = ("key",)

    def __init__(self, key: object) -> None:
        self.key = key

    def __lt__(self, other: "_Rank") -> bool:
        return less(self.key, other.key)


def _sort(values: object, order: str = "asc") -> list[Any]:
    if not isinstance(values, list):  # to Go it is a nil array, which here would be hard to tell from an empty one
        raise UnsupportedExpression(f"unsupported: sort of {type_name(values)}")
    return in_order(values, text(order))


def in_order(values: list[Any], order: str = "asc", keys: list[Any] | None = None) -> list[Any]:
    if order not in ("asc", "desc"):
        raise ExpressionError(f"invalid order {order}, expected asc or desc")
    ranks = map(_Rank, values if keys is None else keys)
    pairs = sorted(zip(ranks, values, strict=True), key=lambda pair: pair[0], reverse=order == "desc")
    return [value for _, value in pairs]


BUILTINS: dict[str, tuple[tuple[str, ...], Function]] = {
    "len": (("string > int", "array > int", "map > int"), _length),
    "type": (("any > string",), type_name),
    "abs": (("number > same",), _absolute),
    "ceil": (("number > float",), _rounding("ceil")),
    "floor": (("number > float",), _rounding("floor")),
    "round": (("number > float",), _rounding("round")),
    "int": (("number > int", "string > int"), to_integer),
    "float": (("number > float", "string > float"), to_float),
    "string": (("any > string",), golang.format_value),
    "trim": (("string > string", "string string > string"), _trim),
    "trimPrefix": (("string string > string", "string > string"), lambda s, cut=" ": text(s).removeprefix(text(cut))),
    "trimSuffix": (("string string > string", "string > string"), lambda s, cut=" ": text(s).removesuffix(text(cut))),
    "upper": (("string > string",), lambda s: golang.upper(text(s))),
    "lower": (("string > string",), lambda s: golang.lower(text(s))),
    "split": (("string string > strings", "string string int > strings"), _split),
    "replace": (("string string string > string", "string string string int > string"), _replace),
    "join": (("array string > string", "array > string"), lambda a, glue="": text(glue).join(map(text, elements(a)))),
    "indexOf": (("string string > int",), lambda s, part: text(s).encode().find(text(part).encode())),
    "lastIndexOf": (("string string > int",), lambda s, part: text(s).encode().rfind(text(part).encode())),
    "hasPrefix": (("string string > bool",), lambda s, part: text(s).startswith(text(part))),
    "hasSuffix": (("string string > bool",), lambda s, part: text(s).endswith(text(part))),
    "max": (("extremes extremes* > extreme",), _extreme(lambda value, best: less(best, value))),
    "min": (("extremes extremes* > extreme",), _extreme(less)),
    "toJSON": (("any > string",), lambda value: golang.marshal(value, indent="  ")),
    "fromJSON": (("string > any",), lambda s: golang.unmarshal(text(s))),
    "toBase64": (("string > string",), lambda s: base64.b64encode(text(s).encode()).decode()),
    "fromBase64": (("string > string",), _from_base64),
    "first": (("array > element",), _item(0)),
    "last": (("array > element",), _item(-1)),
    "keys": (("map > array",), _entries(list)),
    "values": (("map > array",), _entries(lambda entries: list(entries.values()))),
    "reverse": (("array > array",), lambda a: elements(a)[::-1]),
    "uniq": (("array > array",), _unique),
    "concat": (("array array* > array",), lambda *arrays: [item for array in arrays for item in elements(array)]),
    "flatten": (("array > array",), _flatten),
    "sort": (("array string > array", "array > array"), _sort),
}
"""What each built-in takes and gives, and what it does."""


def _jsonpath(document: str, path: str) -> object:
    from argosy.pipelines.expressions.jsonpath import query  # few workflows use it

    return query(document, path)


ENVIRONMENT: dict[str, Any] = {
    "asInt": to_integer,
    "asFloat": to_float,
    "jsonpath": _jsonpath,
    "toJson": golang.marshal,
    "sprig": SPRIG,
}
"""What Argo adds to the variables of every expression."""

ENVIRONMENT_SIGNATURES = {
    "asInt": ("any > any",),
    "asFloat": ("any > any",),
    "jsonpath": ("string string > any",),
    "toJson": ("any > string",),
}
