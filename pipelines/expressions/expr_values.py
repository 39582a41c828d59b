"""Values of expr-lang and what it does with them at run time (vm/runtime).

A value is None, a bool, a 64-bit int, a float, a str, a list, a dict or a function.
"""

import math
from typing import Any

from argosy.pipelines.expressions import golang
from argosy.pipelines.expressions.errors import ExpressionError

_NAMES = {type(None): "nil", bool: "bool", int: "int", float: "float", str: "string", list: "array", dict: "map"}


def type_name(value: object) -> str:
    return _NAMES.get(type(value), "func")


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:  # noqa: ANN401 - any two values
    """runtime.Equal: numbers compare across types, and so do the items of lists; maps compare strictly."""
    if is_number(left) and is_number(right):
        return bool(left == right if type(left) is type(right) else float(left) == float(right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return _identical(left, right)


def less(left: Any, right: Any) -> bool:  # noqa: ANN401 - any two values
    if is_number(left) and is_number(right):
        return bool(left < right if type(left) is type(right) else float(left) < float(right))
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    raise ExpressionError(f"invalid operation: {type_name(left)} < {type_name(right)}")


def add(left: Any, right: Any) -> Any:  # noqa: ANN401 - any two values
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return _whole(number(left) + number(right))


def subtract(left: Any, right: Any) -> float:  # noqa: ANN401 - any two values
    return _whole(number(left) - number(right))


def multiply(left: Any, right: Any) -> float:  # noqa: ANN401 - any two values
    return _whole(number(left) * number(right))


def divide(left: Any, right: Any) -> float:  # noqa: ANN401 - any two values
    return golang.divide(float(number(left)), float(number(right)))


def modulo(left: Any, right: Any) -> int:  # noqa: ANN401 - any two values
    if isinstance(number(left), float) or isinstance(number(right), float):
        raise ExpressionError("% takes integers only")
    if not right:
        raise ExpressionError("integer divide by zero")
    rest: int = abs(left) % abs(right)
    return -rest if left < 0 else rest


def power(left: Any, right: Any) -> float:  # noqa: ANN401 - any two values
    return golang.power(float(number(left)), float(number(right)))


def negate(value: Any) -> float:  # noqa: ANN401 - any value
    return _whole(-number(value))


def contains(collection: Any, item: Any) -> bool:  # noqa: ANN401 - any two values
    """runtime.In."""
    if isinstance(collection, list):
        return any(equal(item, candidate) for candidate in collection)
    if isinstance(collection, dict) and (item is None or isinstance(item, str)):
        return (item or "") in collection
    if collection is None:
        return False
    raise ExpressionError(f'operator "in" not defined on {type_name(collection)}')


def fetch(base: Any, key: Any) -> Any:  # noqa: ANN401 - any two values
    """runtime.Fetch: base[key]. A map gives nil for a key it lacks, a string gives bytes."""
    if isinstance(base, dict) and isinstance(key, str):
        return base.get(key)
    if isinstance(base, list | str):
        items = base if isinstance(base, list) else base.encode()
        index = integer(key)
        if not -len(items) <= index < len(items):
            raise ExpressionError(f"index out of range: {index} (array length is {len(items)})")
        return items[index]
    raise ExpressionError(f"cannot fetch {golang.format_value(key)} from {type_name(base)}")


def sliced(base: Any, start: int | None, end: int | None) -> Any:  # noqa: ANN401 - any value
    """runtime.Slice: base[start:end], of a string by bytes. Bounds outside are moved to the nearest end."""
    items = base.encode() if isinstance(base, str) else elements(base)
    part = items[start:end]
    return part.decode(errors="replace") if isinstance(part, bytes) else part


def integer(value: Any) -> int:  # noqa: ANN401 - any value
    """runtime.ToInt."""
    return golang.truncated(value) if isinstance(number(value), float) else value


def number(value: Any) -> Any:  # noqa: ANN401 - any value
    return value if is_number(value) else _refuse(value, "number")


def text(value: Any) -> str:  # noqa: ANN401 - any value
    return value if isinstance(value, str) else _refuse(value, "string")


def boolean(value: Any) -> bool:  # noqa: ANN401 - any value
    return value if isinstance(value, bool) else _refuse(value, "bool")


def elements(value: Any) -> list[Any]:  # noqa: ANN401 - any value
    return value if isinstance(value, list) else _refuse(value, "array")


def rounded(value: float, way: str) -> float:
    """math.Floor, math.Ceil and math.Round, which rounds halves away from zero."""
    if not math.isfinite(value):
        return value
    if way == "round":
        whole = math.trunc(value)
        return math.copysign(abs(whole) + (abs(value - whole) >= 0.5), value)
    return math.copysign(math.floor(value) if way == "floor" else math.ceil(value), value)


def _identical(left: Any, right: Any) -> bool:  # noqa: ANN401 - any two values
    """reflect.DeepEqual."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_identical(left[key], right[key]) for key in left)
    return bool(left == right)


def _whole(value: float) -> float:
    return golang.wrapped(value) if isinstance(value, int) else value


def _refuse(value: object, wanted: str) -> Any:  # noqa: ANN401 - it never returns
    raise ExpressionError(f"{golang.format_value(value)} ({type_name(value)}) is no {wanted}")
