"""Argo's `jsonpath(json, path)`: the part of github.com/evilmonkeyinc/jsonpath v0.8.1 that has no scripts.

Paths have keys, indexes, slices, unions, wildcards, `..` and filters. A filter has paths, literals, comparisons, `&&`,
`||`, `!` and parentheses.
"""

import operator
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from argosy.pipelines.expressions import golang
from argosy.pipelines.expressions.errors import ExpressionError, UnsupportedExpression
from argosy.pipelines.expressions.syntax import Cursor, Token

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_STEP = re.compile(
    rf"""(?P<recursive>\.\.)
    | \.?\[\s*(?:(?P<all>\*) | (?P<slice>-?\d*(?::-?\d*){{1,2}}) | \?\((?P<filter>.*?)\)(?=\s*\]\s*(?:[.\[]|$))
                | (?P<keys>(?:{_QUOTED}|-?\d+)(?:\s*,\s*(?:{_QUOTED}|-?\d+))*))\s*\]
    | (?:\.|(?<=\.\.))(?P<name>[^.\[\]]+)""",
    re.VERBOSE | re.DOTALL,
)
_KEY = re.compile(rf"{_QUOTED}|-?\d+", re.DOTALL)
_WORD = re.compile(
    rf"""\s*(?:(?P<sign>\|\||&&|==|!=|<=|>=|<|>|!|\(|\))
    | (?P<path>[@$](?:\.?\[(?:[^\]'"]|{_QUOTED})*\]|\.\.?[\w*-]+)*)
    | (?P<text>{_QUOTED}) | (?P<word>[\w.+-]+))\s*""",
    re.VERBOSE | re.DOTALL,
)
_ORDERINGS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_BOOLEANS = {**dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
             **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False)}  # fmt: skip

Step = tuple[str, Any]
Test = Callable[[Any, Any], Any]


def query(document: str, path: str) -> object:
    """The value at the path. Raises ExpressionError for a missing key, and for a path that is not supported here."""
    root = golang.unmarshal(document)
    return _select(root, root, _steps(path))


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[Step, ...]:
    if not path.startswith(("$", "@")):
        raise ExpressionError(f"invalid JSONPath selector '{path}': it must start with $")
    steps: list[Step] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if not match:
            raise UnsupportedExpression(f"unsupported JSONPath '{path}'", position + 1)
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:  # noqa: PLR0911 - one return for each kind of step
    kind = match.lastgroup or ""
    text = match[kind]
    match kind:
        case "name" if text.strip() == "*":
            return "all", None
        case "name":
            return ("length", None) if text.strip() == "length" else ("key", text.strip())
        case "slice":
            return kind, tuple(int(bound) if bound else None for bound in text.split(":"))
        case "filter":
            return kind, _test(text)
        case "keys":
            keys = [_key(found[0]) for found in _KEY.finditer(text)]
            if len(keys) > 1:
                return "union", keys
            return ("index", keys[0]) if isinstance(keys[0], int) else ("key", keys[0])
    return kind, None


def _key(text: str) -> str | int:
    return re.sub(r"\\(['\"])", r"\1", text[1:-1]) if text[0] in "'\"" else int(text)


def _select(root: Any, current: Any, steps: tuple[Step, ...]) -> Any:  # noqa: ANN401, C901, PLR0911 - any JSON; one case for each kind of step
    if not steps:
        return current
    (kind, detail), rest = steps[0], steps[1:]
    match kind:
        case "key" if isinstance(current, dict) and detail in current:
            return _select(root, current[detail], rest)
        case "index" if isinstance(current, list) and -len(current) <= detail < len(current):
            return _select(root, current[detail], rest)
        case "length" if isinstance(current, dict):
            return _select(root, current.get("length", len(current)), rest)
        case "length" if isinstance(current, list | str):
            return _select(root, len(current if isinstance(current, list) else current.encode()), rest)
        case "recursive":
            return _everywhere(root, current, rest)
        case "all" if isinstance(current, dict | list):
            return _each(root, _children(current), rest)
        case "slice" if isinstance(current, list):
            return _together(root, _slice(current, *detail), rest)
        case "union":
            return _together(root, _union(current, detail), rest)
        case "filter" if isinstance(current, dict | list):
            return _together(root, [item for item in _children(current) if _holds(detail, root, item)], rest)
    raise ExpressionError(f"{kind}: {golang.format_value(detail)} not found")


def _children(current: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    if isinstance(current, dict):
        return [current[key] for key in sorted(current)]
    return current if isinstance(current, list) else []


def _each(root: Any, items: Iterable[Any], steps: tuple[Step, ...]) -> list[Any]:  # noqa: ANN401 - any JSON
    """What the steps find in each item, without the items where they find nothing."""
    found = []
    for item in items:
        try:
            value = _select(root, item, steps)
        except ExpressionError:
            continue
        if value is not None or not steps:
            found.append(value)
    return found


def _together(root: Any, items: list[Any], steps: tuple[Step, ...]) -> Any:  # noqa: ANN401 - any JSON
    """An index right behind a filter, a slice or a union takes one of what these found."""
    return _select(root, items, steps) if steps and steps[0][0] == "index" else _each(root, items, steps)


def _everywhere(root: Any, current: Any, steps: tuple[Step, ...]) -> list[Any]:  # noqa: ANN401 - any JSON
    if current is None:
        return []
    found: list[Any] = []
    for value in _each(root, [current], steps):
        found += value if isinstance(value, list) and steps else [value]
    for child in _children(current):
        found += _everywhere(root, child, steps)
    return found


def _slice(items: list[Any], start: int | None, end: int | None, step: int | None = None) -> list[Any]:
    size, stride = len(items), 1 if step is None else step
    if stride == 0:
        raise ExpressionError("range: token out of range")
    first = 0 if start is None else min(max(start + size if start < 0 else start, 0), size)
    last = size if end is None else min(max(end + size if end < 0 else end, 0), size)
    return items[first:last:stride] if stride > 0 else items[first:last][::stride]


def _union(current: Any, keys: list[str | int]) -> list[Any]:  # noqa: ANN401 - any JSON
    if isinstance(current, dict) and all(isinstance(key, str) for key in keys):
        return [current[key] for key in keys if key in current]
    if isinstance(current, list) and all(isinstance(key, int) for key in keys):
        return [current[key] for key in keys if isinstance(key, int) and -len(current) <= key < len(current)]
    raise ExpressionError("union: it takes keys of a map or indexes of a list")


def _holds(test: Test, root: Any, item: Any) -> bool:  # noqa: ANN401 - any JSON
    try:
        value = test(root, item)
    except ExpressionError:
        return False
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return bool(value)


def _test(source: str) -> Test:
    tokens: list[Token] = []
    position = 0
    while position < len(source):
        match = _WORD.match(source, position)
        if not match:
            raise UnsupportedExpression(f"unsupported JSONPath filter '{source}'", position + 1)
        kind = match.lastgroup or ""
        tokens.append(Token(kind, match[kind], position + 1))
        position = match.end()
    return _Filter([*tokens, Token("end", "", position + 1)]).whole()


class _Filter(Cursor):
    """Precedence climbs from || over && and comparisons to !."""

    def whole(self) -> Test:
        test = self._either()
        if self.current.kind != "end":
            raise UnsupportedExpression(f"unsupported JSONPath filter near {self.current.value!r}", self.current.column)
        return test

    def _accept(self, *signs: str) -> str | None:
        found = self.current.kind == "sign" and self.current.value in signs
        return self.advance().value if found else None

    def _either(self) -> Test:
        self.descend()
        test = self._both()
        while self._accept("||"):
            test = _combined(operator.or_, test, self._both())
        self.ascend()
        return test

    def _both(self) -> Test:
        test = self._comparison()
        while self._accept("&&"):
            test = _combined(operator.and_, test, self._comparison())
        return test

    def _comparison(self) -> Test:
        left = self._operand()
        sign = self._accept("==", "!=", *_ORDERINGS)
        return _compared(sign, left, self._operand()) if sign else left

    def _operand(self) -> Test:
        if self._accept("!"):
            self.descend()
            operand = self._operand()
            self.ascend()
            return lambda root, item: not _boolean(operand(root, item))
        if self._accept("("):
            test = self._either()
            if not self._accept(")"):
                raise UnsupportedExpression("unclosed parenthesis in a JSONPath filter", self.current.column)
            return test
        token = self.advance()
        match token.kind:
            case "path":
                steps, from_root = _steps(token.value), token.value[0] == "$"
                return lambda root, item: _marked(_select(root, root if from_root else item, steps))
            case "text":
                text = f"'{token.value[1:-1]}'"
                return lambda _root, _item: text
            case "word":
                word = None if token.value in ("nil", "null") else token.value
                return lambda _root, _item: word
        raise UnsupportedExpression("incomplete JSONPath filter", token.column)


def _marked(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The library tells a text from a number by quotes around the text."""
    return f"'{value}'" if isinstance(value, str) else value


def _boolean(value: object) -> bool:
    known = False if value is None else _BOOLEANS.get(golang.format_value(value))
    if known is None:
        raise ExpressionError("invalid argument. expected boolean")
    return known


def _combined(combine: Callable[[bool, bool], bool], left: Test, right: Test) -> Test:
    return lambda root, item: combine(_boolean(left(root, item)), _boolean(right(root, item)))


def _compared(sign: str, left: Test, right: Test) -> Test:
    def compare(root: Any, item: Any) -> bool:  # noqa: ANN401 - any JSON
        first, second = (golang.format_value(side(root, item)) for side in (left, right))
        one, other = golang.parse_float(first), golang.parse_float(second)
        are_numbers = one is not None and other is not None
        if sign in ("==", "!="):
            return (one == other if are_numbers else first == second) == (sign == "==")
        if one is None or other is None:
            raise ExpressionError("invalid argument. expected number")
        return _ORDERINGS[sign](one, other)

    return compare
