"""expr-lang as Argo uses it: `{{=...}}` tags, `expression` fields, `depends`.

The language is that of github.com/expr-lang/expr v1.17.7 with Argo's functions (util/expr/env/env.go:13), without the
rare built-ins that expr_functions.UNSUPPORTED names and without most of Sprig: these end in an error that says so.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

from argosy.pipelines.expressions import expr_values as values
from argosy.pipelines.expressions import golang, regex
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.expr_functions import BUILTINS, ENVIRONMENT, PREDICATES, in_order
from argosy.pipelines.expressions.expr_parser import parse
from argosy.pipelines.expressions.expr_types import call_type, check, type_of, with_zeros
from argosy.pipelines.expressions.sprig import SPRIG
from argosy.pipelines.expressions.syntax import Node

__all__ = ["evaluate", "format_result", "parse"]

_MOST_ELEMENTS = 1_000_000
"""conf.DefaultMemoryBudget."""


def evaluate(expression: str, variables: Mapping[str, object]) -> Any:  # noqa: ANN401 - any value
    """The value of an expression: None, bool, int, float, str, list or dict.

    Raises ExpressionError where the text cannot be read, where types do not fit, and where running it fails.
    """
    tree = parse(expression)
    try:
        check(tree, variables)
        return _Evaluation(variables).visit(tree)
    except RecursionError:
        raise ExpressionError("a value of the expression is nested too deep") from None


def format_result(value: object) -> str:
    """The text that Argo puts in the place of `{{=...}}` (util/template/expression_template.go:188)."""
    return value if isinstance(value, str) else golang.marshal(value)


class _Leave(Exception):  # noqa: N818 - it is a way out of a chain, no error
    """`?.` met nil: the whole chain is nil."""


class _Frame:
    """One run of a predicate: the array, where in it the run is, and what `reduce` has gathered."""

    __slots__ = ("accumulated", "array", "index")

    def __init__(self, array: list[Any]) -> None:
        self.array = array
        self.index = 0
        self.accumulated: Any = None


class _Evaluation:
    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = variables
        self._locals: dict[str, Any] = {}
        self._frames: list[_Frame] = []

    def visit(self, node: Node) -> Any:  # noqa: ANN401 - any value
        method: Callable[[Node], Any] = getattr(self, f"_{node.kind}")
        return method(node)

    def _literal(self, node: Node) -> object:
        return node.value

    def _name(self, node: Node) -> object:
        for scope in (self._locals, ENVIRONMENT, self._variables):
            if node.value in scope:
                return scope[node.value]
        return None

    def _unary(self, node: Node) -> object:
        value = self.visit(node.children[0])
        if node.value in ("!", "not"):
            return not values.boolean(value)
        return values.negate(value) if node.value == "-" else value

    def _and(self, node: Node) -> object:
        return self._decided(node, by=False)

    def _or(self, node: Node) -> object:
        return self._decided(node, by=True)

    def _decided(self, node: Node, *, by: bool) -> object:
        """The compiler drops a constant that decides nothing, and all the others for one that decides (fold.go)."""
        constants = [_constant(operand) for operand in node.children]
        if by in constants:
            return by
        *operands, last = [
            o for o, known in zip(node.children, constants, strict=True) if known is None
        ] or node.children
        return by if any(values.boolean(self.visit(operand)) is by for operand in operands) else self.visit(last)

    def _binary(self, node: Node) -> object:
        left_node, right_node = node.children
        left = self.visit(left_node)
        if node.value == "??":
            return self.visit(right_node) if left is None else left
        right = self.visit(right_node)
        if node.value == "in" and _are_texts(right_node):
            right = dict.fromkeys(right)
        return _OPERATORS[node.value](left, right)

    def _conditional(self, node: Node) -> object:
        condition, then, otherwise = node.children
        return self.visit(then if values.boolean(self.visit(condition)) else otherwise)

    def _chain(self, node: Node) -> object:
        try:
            return self.visit(node.children[0])
        except _Leave:
            return None

    def _member(self, node: Node) -> object:
        base = self.visit(node.children[0])
        if base is None and node.value:
            raise _Leave
        return values.fetch(base, self.visit(node.children[1]))

    def _slice(self, node: Node) -> object:
        base, start, end = node.children
        value = self.visit(base)
        bounds = [None if bound.kind == "absent" else values.integer(self.visit(bound)) for bound in (start, end)]
        return values.sliced(value, *bounds)

    def _call(self, node: Node) -> object:
        callee, *arguments = node.children
        given = [self.visit(argument) for argument in arguments]
        if callee.kind == "member" and callee.children[0].value == "sprig":
            return _call_sprig(callee.children[1].value, given)
        function = self.visit(callee)
        if not callable(function):
            raise ExpressionError(f"invalid operation: cannot call {values.type_name(function)}", node.column)
        return function(*given)

    def _builtin(self, node: Node) -> object:
        if node.value in PREDICATES:
            return self._over_array(node)
        return BUILTINS[node.value][1](*(self.visit(argument) for argument in node.children))

    def _list(self, node: Node) -> object:
        return [self.visit(item) for item in node.children]

    def _map(self, node: Node) -> object:
        entries = [self.visit(entry) for entry in node.children]
        return dict(zip(map(values.text, entries[::2]), entries[1::2], strict=True))

    def _let(self, node: Node) -> object:
        value, body = node.children
        self._locals[node.value] = self.visit(value)
        result = self.visit(body)
        del self._locals[node.value]
        return result

    def _sequence(self, node: Node) -> object:
        return [self.visit(expression) for expression in node.children][-1]

    def _predicate(self, node: Node) -> object:
        return self.visit(node.children[0])

    def _pointer(self, node: Node) -> object:
        frame = self._frames[-1]
        if node.value:
            return frame.index if node.value == "index" else frame.accumulated
        return frame.array[frame.index]

    def _over_array(self, node: Node) -> object:
        name, array = node.value, _iterated(self.visit(node.children[0]))
        frame = _Frame(array)
        body = node.children[1] if len(node.children) > 1 else Node("pointer", node.column, "")
        option = self.visit(node.children[2]) if len(node.children) > 2 else None
        self._frames.append(frame)
        try:
            if name == "reduce":
                return self._reduce(frame, body, option, has_start=len(node.children) > 2)
            order = range(len(array))
            results = self._results(frame, body, order[::-1] if "Last" in name else order)
            return _gathered(name, array, results, option)
        finally:
            self._frames.pop()

    def _results(self, frame: _Frame, body: Node, order: range) -> Iterator[tuple[int, Any]]:
        for index in order:
            frame.index = index
            yield index, self.visit(body)

    def _reduce(self, frame: _Frame, body: Node, start: object, *, has_start: bool) -> object:
        if not has_start and not frame.array:
            raise ExpressionError("reduce of empty array with no initial value")
        frame.accumulated = start if has_start else frame.array[0]
        for index in range(0 if has_start else 1, len(frame.array)):
            frame.index = index
            frame.accumulated = self.visit(body)
        return frame.accumulated


def _gathered(name: str, array: list[Any], results: Iterator[tuple[int, Any]], option: Any) -> object:  # noqa: ANN401 - any value
    """What a function makes of its predicate's results; it stops at the first one that decides."""
    match name:
        case "map":
            return [result for _, result in results]
        case "sum":
            return reduce(lambda total, indexed: values.add(indexed[1], total), results, 0)
        case "sortBy":
            return in_order(array, "asc" if option is None else values.text(option), [result for _, result in results])
        case "all":
            return all(values.boolean(result) for _, result in results)
    return _CHOICES[name](array, (index for index, result in results if values.boolean(result)))


def _first(array: list[Any], true_at: Iterator[int]) -> object:
    return next((array[index] for index in true_at), None)


def _first_index(_array: list[Any], true_at: Iterator[int]) -> object:
    return next(true_at, None)


_CHOICES: dict[str, Callable[[list[Any], Iterator[int]], object]] = {
    "filter": lambda array, true_at: [array[index] for index in true_at],
    "count": lambda _, true_at: sum(1 for _ in true_at),
    "one": lambda _, true_at: sum(1 for _ in true_at) == 1,
    "any": lambda _, true_at: next(true_at, None) is not None,
    "none": lambda _, true_at: next(true_at, None) is None,
    "find": _first,
    "findLast": _first,
    "findIndex": _first_index,
    "findLastIndex": _first_index,
}
"""What becomes of an array, given where in it the predicate holds."""


def _constant(node: Node) -> bool | None:
    if node.kind == "unary" and node.value in ("!", "not"):
        known = _constant(node.children[0])
        return None if known is None else not known
    return node.value if node.kind == "literal" and isinstance(node.value, bool) else None


def _are_texts(node: Node) -> bool:
    """A list of texts becomes a set (in_array.go): what is no text cannot be looked for in it."""
    items = node.children if node.kind == "list" else ()
    return bool(items) and all(item.kind == "literal" and isinstance(item.value, str) for item in items)


def _iterated(value: object) -> list[Any]:
    """A text whose type was not known when checking is taken for its bytes."""
    return list(value.encode()) if isinstance(value, str) else values.elements(value)


def _call_sprig(name: str, arguments: list[Any]) -> object:
    signature, function = SPRIG[name]
    given = with_zeros(signature, arguments)
    call_type(f"sprig.{name}", (signature,), [type_of(argument) for argument in given])
    return function(*given)


def _range(first: object, last: object) -> list[int]:
    numbers = range(values.integer(first), values.integer(last) + 1)
    if len(numbers) > _MOST_ELEMENTS:
        raise ExpressionError("memory budget exceeded")
    return list(numbers)


def _on_texts(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    """A test of two texts, false where one is nil."""
    return lambda left, right: left is not None and right is not None and test(values.text(left), values.text(right))


_OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "==": values.equal,
    "!=": lambda left, right: not values.equal(left, right),
    "<": values.less,
    ">": lambda left, right: values.less(right, left),
    "<=": lambda left, right: values.less(left, right) or values.equal(left, right),
    ">=": lambda left, right: values.less(right, left) or values.equal(left, right),
    "+": values.add,
    "-": values.subtract,
    "*": values.multiply,
    "/": values.divide,
    "%": values.modulo,
    "**": values.power,
    "^": values.power,
    "..": _range,
    "in": lambda item, collection: values.contains(collection, item),
    "matches": _on_texts(lambda text, pattern: bool(regex.compiled(pattern).search(text))),
    "contains": _on_texts(lambda text, part: part in text),
    "startsWith": _on_texts(str.startswith),
    "endsWith": _on_texts(str.endswith),
}
