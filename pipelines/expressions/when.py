"""`when` in Argo's dialect: govaluate (github.com/Knetic/govaluate at Argo's pin), with every bare word a string.

Numbers are float64, texts compare letter by letter (`'10' < '9'`), and a quoted text in the form of a date is a number.
"""

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from argosy.pipelines.expressions import golang, regex
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.syntax import Cursor, Node, Token
from argosy.pipelines.expressions.when_lexer import Pattern, barewords_as_strings, tokenize

_LEVELS = (
    {","}, {"?", ":", "??"}, {"||"}, {"&&"}, {"==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in"}, {"^", "&", "|"},
    {">>", "<<"}, {"+", "-"}, {"*", "/", "%"}, {"**"},
)  # fmt: skip
_PRECEDENCES = {symbol: precedence for precedence, level in enumerate(_LEVELS) for symbol in level}
"""From the loosest operators to the tightest; all of them group from the left."""

_OPERATOR_KINDS = frozenset({"SEPARATOR", "TERNARY", "LOGICALOP", "COMPARATOR", "MODIFIER"})
Operation = Callable[[Any, Any], Any]

_HINT = ' (hint: try wrapping the affected expression in quotes ("))'


def evaluate(expression: str) -> bool:
    """Whether a step runs, given its `when` with every tag replaced (workflow/controller/steps.go:375).

    Raises ExpressionError in Argo's words, no more.
    """
    if not expression:
        return True
    try:
        tree = parse(expression)
    except ExpressionError as error:
        raise error.reworded(error.message) from None
    try:
        result = _value(tree)
    except ExpressionError as error:
        raise error.reworded(f"Failed to evaluate 'when' expresion '{expression}': {error.message}") from None
    if not isinstance(result, bool):
        message = f"Expected boolean evaluation for '{expression}'. Got {golang.format_value(result)}"
        raise ExpressionError(message)
    return result


@lru_cache(maxsize=1024)
def parse(expression: str) -> Node:
    """The syntax tree. Raises ExpressionError in Argo's words, with the column of what cannot be read.

    Kinds of nodes: literal; prefix with its operand; binary with left and right; accessor, which has no value in Argo.
    """
    try:
        tokens = tokenize(expression)
    except ExpressionError as error:
        hint = _HINT if "Invalid token" in error.message else ""
        message = f"Invalid 'when' expression '{expression}': {error.message}{hint}"
        raise error.reworded(message, error.column) from None
    try:
        words = barewords_as_strings(tokens)
        return _Parser([*words, Token("end", "", len(expression))]).expression(0)
    except ExpressionError as error:
        message = f"Failed to parse 'when' expression '{expression}': {error.message}"
        raise error.reworded(message, error.column) from None


class _Parser(Cursor):
    def expression(self, precedence: int) -> Node:
        """Like govaluate it stops at the first word that is no operator, and never asks for what comes after."""
        self.descend()
        left = self._operand()
        while self.current.kind in _OPERATOR_KINDS and _PRECEDENCES[self.current.value] >= precedence:
            symbol = self.advance()
            right = self.expression(_PRECEDENCES[symbol.value] + 1)
            left = Node("binary", symbol.column, symbol.value, [left, right])
        self.ascend()
        return left

    def _operand(self) -> Node:
        token = self.current
        match token.kind:
            case "CLAUSE_CLOSE":
                return Node("literal", token.column, None)
            case "CLAUSE":
                self.advance()
                node = self.expression(0)
                self.advance()  # what stands here is taken for the closing parenthesis (stagePlanner.go, planValue)
                return node
            case "PREFIX":
                self.advance()
                return Node("prefix", token.column, token.value, [self._operand()])
            case "ACCESSOR":
                self.advance()
                arguments = [self.expression(0)] if self.current.kind == "CLAUSE" else []
                return Node("accessor", token.column, token.value[0], arguments)
            case "NUMERIC" | "STRING" | "BOOLEAN" | "PATTERN":
                return Node("literal", token.column, self.advance().value)
            case "TIME":
                return Node("literal", token.column, float(self.advance().value))
        raise ExpressionError(f"Unable to plan token kind: '{token.kind}', value: '{token.value}'", token.column)


def _value(node: Node) -> Any:  # noqa: ANN401 - any value
    match node.kind:
        case "literal":
            return node.value
        case "prefix":
            return _prefixed(node.value, _value(node.children[0]))
        case "accessor":
            for argument in node.children:
                _value(argument)
            raise ExpressionError(f"No parameter '{node.value}' found.")
    symbol = node.value
    left = _value(node.children[0])
    if (symbol == "&&" and left is False) or (symbol == "||" and left is True):
        return left
    if symbol in ("??", ":"):
        return _value(node.children[1]) if left is None else left
    if symbol == "?":
        right = None if left is False else _value(node.children[1])
        _check(left, bool, "ternary operator '?', it is not a bool")
        return right
    return _OPERATIONS[symbol](left, _value(node.children[1]))


def _prefixed(symbol: str, operand: Any) -> object:  # noqa: ANN401 - any value
    _check(operand, bool if symbol == "!" else float, f"prefix '{symbol}'")
    if symbol == "!":
        return not operand
    return -operand if symbol == "-" else float(~golang.truncated(operand))


def _refusal(value: object, use: str) -> ExpressionError:
    return ExpressionError(f"Value '{golang.format_value(value)}' cannot be used with the {use}")


def _check(value: object, kind: type | tuple[type, ...], use: str) -> None:
    if not isinstance(value, kind):
        raise _refusal(value, use)


def _listed(left: Any, right: Any) -> list[Any]:  # noqa: ANN401 - any two values
    return [*left, right] if isinstance(left, list) else [left, right]


def _same(left: Any, right: Any) -> bool:  # noqa: ANN401 - any two values
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)


def _is_in(item: Any, items: Any) -> bool:  # noqa: ANN401 - any two values
    _check(items, list, "comparator 'in', it is not a number")
    for candidate in items:
        if isinstance(item, list) and isinstance(candidate, list):
            raise ExpressionError("comparing uncomparable type []interface {}")
        if _same(item, candidate):
            return True
    return False


def _add(left: Any, right: Any) -> object:  # noqa: ANN401 - any two values
    if isinstance(left, str) or isinstance(right, str):
        return golang.format_value(left) + golang.format_value(right)
    if isinstance(left, float) and isinstance(right, float):
        return left + right
    raise _refusal(left, "modifier '+', it is not a number")


def _logical(symbol: str, combine: Callable[[bool, bool], bool]) -> Operation:
    def apply(left: Any, right: Any) -> bool:  # noqa: ANN401 - any two values
        for side in (left, right):
            _check(side, bool, f"logical operator '{symbol}', it is not a bool")
        return combine(left, right)

    return apply


def _ordering(symbol: str, compare: Callable[[Any, Any], bool]) -> Operation:
    def apply(left: Any, right: Any) -> bool:  # noqa: ANN401 - any two values
        if type(left) is type(right) and isinstance(left, str | float):
            return compare(left, right)
        raise _refusal(left, f"comparator '{symbol}', it is not a number")

    return apply


def _matching(symbol: str, *, wanted: bool) -> Operation:
    def apply(left: Any, right: Any) -> bool:  # noqa: ANN401 - any two values
        _check(left, str, f"comparator '{symbol}', it is not a number")
        _check(right, (str, Pattern), f"comparator '{symbol}', it is not a number")
        return bool(regex.compiled(str(right)).search(left)) == wanted

    return apply


def _arithmetic(symbol: str, compute: Callable[[float, float], float]) -> Operation:
    def apply(left: Any, right: Any) -> float:  # noqa: ANN401 - any two values
        for side in (left, right):
            _check(side, float, f"modifier '{symbol}', it is not a number")
        return compute(left, right)

    return apply


def _bitwise(combine: Callable[[int, int], int]) -> Callable[[float, float], float]:
    return lambda left, right: float(combine(golang.truncated(left), golang.truncated(right)))


def _shift_left(left: float, right: float) -> float:
    count = golang.truncated_unsigned(right)
    return float((golang.truncated_unsigned(left) << count) % 2**64) if count < 64 else 0.0


def _shift_right(left: float, right: float) -> float:
    return float(golang.truncated_unsigned(left) >> min(golang.truncated_unsigned(right), 64))


_NUMERIC: dict[str, Callable[[float, float], float]] = {
    "-": operator.sub,
    "*": operator.mul,
    "/": golang.divide,
    "%": golang.remainder,
    "**": golang.power,
    "&": _bitwise(operator.and_),
    "|": _bitwise(operator.or_),
    "^": _bitwise(operator.xor),
    "<<": _shift_left,
    ">>": _shift_right,
}
_OPERATIONS: dict[str, Operation] = {
    ",": _listed,
    "==": _same,
    "!=": lambda left, right: not _same(left, right),
    "in": _is_in,
    "+": _add,
    "&&": _logical("&&", operator.and_),
    "||": _logical("||", operator.or_),
    "<": _ordering("<", operator.lt),
    "<=": _ordering("<=", operator.le),
    ">": _ordering(">", operator.gt),
    ">=": _ordering(">=", operator.ge),
    "=~": _matching("=~", wanted=True),
    "!~": _matching("!~", wanted=False),
    **{symbol: _arithmetic(symbol, compute) for symbol, compute in _NUMERIC.items()},
}
