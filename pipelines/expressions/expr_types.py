"""Types that expr-lang checks before it runs anything (checker/checker.go): a mistake in an idle branch is an error.

The types are unknown, nil, bool, int, float, string, array, strings (Go's []string), map, function and struct.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from argosy.pipelines.expressions import regex
from argosy.pipelines.expressions.errors import ExpressionError, UnsupportedExpression
from argosy.pipelines.expressions.expr_functions import (
    BUILTINS,
    ENVIRONMENT,
    ENVIRONMENT_SIGNATURES,
    PREDICATES,
)
from argosy.pipelines.expressions.sprig import SPRIG
from argosy.pipelines.expressions.syntax import Node


class Struct(dict[str, object]):
    """A variable whose fields are all known: another field is an error, not nil."""


class Type:
    __slots__ = ("element", "fields", "name")

    def __init__(self, name: str, element: "Type | None" = None, fields: "Mapping[str, Type] | None" = None) -> None:
        self.name = name
        self.element = element
        self.fields = fields


UNKNOWN, NIL, BOOL, INT, FLOAT, STRING = map(Type, ("unknown", "nil", "bool", "int", "float", "string"))
MAP, FUNCTION = Type("map"), Type("function")
STRINGS = Type("strings", STRING)
ARRAY = Type("array")
"""An array of anything."""

_TYPES = {type(None): NIL, bool: BOOL, int: INT, float: FLOAT, str: STRING, list: ARRAY, dict: MAP}
_NUMBERS = frozenset({"int", "float"})
_ARRAYS = frozenset({"array", "strings"})
_ADDITIVE = frozenset({"int", "float", "string"})
_NULLABLE = frozenset({"unknown", "map", "array", "strings", "function"})
_ACCEPTED = {
    "any": None, "number": _NUMBERS, "array": _ARRAYS, "int": {"int"}, "string": {"string"}, "map": {"map"},
    "extremes": _NUMBERS | _ARRAYS,
}  # fmt: skip
"""Which types a word of a signature stands for; None is every type."""

_RESULTS = {"int": INT, "float": FLOAT, "string": STRING, "bool": BOOL, "any": UNKNOWN, "array": ARRAY, "map": MAP,
            "strings": STRINGS}  # fmt: skip
_OPERANDS = {
    "<": _ADDITIVE, ">": _ADDITIVE, "<=": _ADDITIVE, ">=": _ADDITIVE, "+": _ADDITIVE, "-": _NUMBERS, "*": _NUMBERS,
    "/": _NUMBERS, "**": _NUMBERS, "^": _NUMBERS, "%": {"int"}, "..": {"int"}, "matches": {"string"},
    "contains": {"string"}, "startsWith": {"string"}, "endsWith": {"string"},
}  # fmt: skip


def type_of(value: object) -> Type:
    """The type of a variable, as Go sees it in a map of interfaces: what is inside a map or a list is unknown."""
    if isinstance(value, Struct):
        return Type("struct", fields={name: type_of(field) for name, field in value.items()})
    return _TYPES.get(type(value), FUNCTION)


def call_type(name: str, signatures: Sequence[str], arguments: Sequence[Type]) -> Type:
    """The type of a call's result. Raises ExpressionError where no signature takes the arguments."""
    for signature in signatures:
        parameters, result = signature.split(" > ")
        if _takes(parameters.split(), arguments):
            if result == "same":
                return arguments[0]
            if result == "extreme":
                return arguments[0] if all(argument.name in _NUMBERS for argument in arguments) else UNKNOWN
            if result == "element":
                return arguments[0].element or UNKNOWN
            return _RESULTS[result]
    given = ", ".join(argument.name for argument in arguments)
    wanted = " or ".join(signature.replace(" > ", " giving ") for signature in signatures)
    raise ExpressionError(f"cannot call {name} with ({given}): it takes {wanted}")


def with_zeros(signature: str, arguments: Sequence[object]) -> list[object]:
    """The arguments with Go's zero value in the place of nil, where the signature wants a text or a number."""
    zeros = [{"string": "", "int": 0}.get(parameter) for parameter in signature.split(" > ", maxsplit=1)[0].split()]
    zeros += [None] * (len(arguments) - len(zeros))
    return [zero if argument is None else argument for zero, argument in zip(zeros, arguments, strict=False)]


def check(tree: Node, variables: Mapping[str, object]) -> Type:
    """The type of an expression. Raises ExpressionError, with the column, for an unknown name or a wrong type."""
    return _Checker(variables).visit(tree)


def _takes(parameters: list[str], arguments: Sequence[Type]) -> bool:
    if parameters and parameters[-1].endswith("*"):
        repeated = parameters.pop()[:-1]
        parameters += [repeated] * (len(arguments) - len(parameters))
    return len(parameters) == len(arguments) and all(map(_accepts, parameters, arguments))


def _accepts(parameter: str, argument: Type) -> bool:
    accepted = _ACCEPTED[parameter]
    return accepted is None or argument.name == "unknown" or argument.name in accepted


class _Checker:
    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = variables
        self._types: dict[str, Type] = {}
        self._locals: list[tuple[str, Type]] = []
        self._collections: list[tuple[Type, dict[str, Type]]] = []

    def visit(self, node: Node) -> Type:
        method: Callable[[Node], Type] = getattr(self, f"_{node.kind}")
        try:
            return method(node)
        except ExpressionError as error:
            if error.column is None:
                raise error.reworded(error.message, node.column) from None
            raise

    def _visit_all(self, nodes: Iterable[Node]) -> list[Type]:
        return [self.visit(node) for node in nodes]

    def _absent(self, _node: Node) -> Type:
        return UNKNOWN

    def _literal(self, node: Node) -> Type:
        return type_of(node.value)

    def _name(self, node: Node) -> Type:
        for name, known in reversed(self._locals):
            if name == node.value:
                return known
        if node.value in ENVIRONMENT:
            return MAP if node.value == "sprig" else FUNCTION
        if node.value in self._types:
            return self._types[node.value]
        if node.value in self._variables:
            self._types[node.value] = type_of(self._variables[node.value])
            return self._types[node.value]
        if node.value == "$env":
            raise UnsupportedExpression("unsupported name $env")
        raise ExpressionError(f"unknown name {node.value}")

    def _unary(self, node: Node) -> Type:
        operand = self.visit(node.children[0])
        is_not = node.value in ("!", "not")
        if operand.name == "unknown":
            return BOOL if is_not else UNKNOWN
        if operand.name in ({"bool"} if is_not else _NUMBERS):
            return operand
        raise ExpressionError(f"invalid operation: {node.value} (mismatched type {operand.name})")

    def _and(self, node: Node) -> Type:
        self._visit_operands(node)
        return BOOL

    _or = _and

    def _visit_operands(self, node: Node) -> None:
        for operand in self._visit_all(node.children):
            if operand.name not in ("bool", "unknown"):
                raise ExpressionError(f"invalid operation: {node.value} (mismatched type {operand.name})")

    def _binary(self, node: Node) -> Type:
        left, right = self._visit_all(node.children)
        operator = node.value
        if operator in _OPERANDS:
            return self._arithmetic(node, left, right)
        if operator == "in":
            return self._in(left, right)
        if operator == "??":
            return _coalesced(left, right)
        if _are_comparable(left, right):
            return BOOL
        raise _mismatch(operator, left, right)

    def _arithmetic(self, node: Node, left: Type, right: Type) -> Type:
        operator, names = node.value, {left.name, right.name}
        known = names - {"unknown"}
        if not known <= _OPERANDS[operator] or (len(known) > 1 and not known <= _NUMBERS):
            raise _mismatch(operator, left, right)
        pattern = node.children[1]
        if operator == "matches" and pattern.kind == "literal":
            regex.compiled(pattern.value)
        if operator == "%":
            _refuse_division_by_zero(*node.children)
            return INT
        if operator in ("/", "**", "^"):
            return FLOAT
        if operator == "..":
            return Type("array", INT)
        if operator not in ("+", "-", "*"):
            return BOOL
        return UNKNOWN if "unknown" in names else FLOAT if "float" in names else left

    def _in(self, item: Type, collection: Type) -> Type:
        is_unknown = item.name == "unknown"
        match collection.name:
            case "unknown":
                return BOOL
            case "map" | "struct" if is_unknown or item.name == "string":
                return BOOL
            case "array" | "strings" if _are_comparable(item, collection.element or UNKNOWN):
                return BOOL
            case "string" if is_unknown:
                return BOOL
        raise _mismatch("in", item, collection)

    def _conditional(self, node: Node) -> Type:
        condition, then, otherwise = self._visit_all(node.children)
        if condition.name not in ("bool", "unknown"):
            raise ExpressionError(f"non-bool expression (type {condition.name}) used as condition")
        if then.name == "nil" or otherwise.name == "nil":
            return otherwise if then.name == "nil" else then
        if then.name != otherwise.name:
            return UNKNOWN
        return ARRAY if then.name == "array" and _name(then.element) != _name(otherwise.element) else then

    def _chain(self, node: Node) -> Type:
        return self.visit(node.children[0])

    def _member(self, node: Node) -> Type:
        base, key = self._visit_all(node.children)
        name = node.children[1].value
        match base.name:
            case "unknown":
                return UNKNOWN
            case "map" if key.name in ("string", "unknown"):
                return UNKNOWN
            case "array" | "strings" if key.name in ("int", "unknown"):
                return base.element or UNKNOWN
            case "struct" if base.fields and name in base.fields:
                return base.fields[name]
        raise ExpressionError(f"type {base.name} has no field {name}")

    def _slice(self, node: Node) -> Type:
        base, *bounds = self._visit_all(node.children)
        if base.name not in ("unknown", "string", *_ARRAYS):
            raise ExpressionError(f"cannot slice {base.name}")
        if base.name != "unknown" and any(bound.name not in ("int", "unknown") for bound in bounds):
            raise ExpressionError("non-integer slice index")
        return base

    def _call(self, node: Node) -> Type:
        callee = node.children[0]
        kind = self.visit(callee)
        if callee.kind == "name" and callee.value in ENVIRONMENT_SIGNATURES:
            arguments = self._visit_all(node.children[1:])
            return call_type(callee.value, ENVIRONMENT_SIGNATURES[callee.value], arguments)
        if callee.kind == "member" and callee.children[0].value == "sprig" and callee.children[1].value not in SPRIG:
            raise UnsupportedExpression(f"unsupported function sprig.{callee.children[1].value}")
        if kind.name != "unknown":
            raise ExpressionError(f"{kind.name} is not callable")
        return UNKNOWN  # the arguments of an unknown function are not looked at, not even for unknown names

    def _builtin(self, node: Node) -> Type:
        if node.value in PREDICATES:
            return self._over_array(node)
        return call_type(node.value, BUILTINS[node.value][0], self._visit_all(node.children))

    def _over_array(self, node: Node) -> Type:
        name = node.value
        collection = self.visit(node.children[0])
        if collection.name not in ("unknown", *_ARRAYS):
            raise ExpressionError(f"builtin {name} takes only array (got {collection.name})")
        element = collection.element or UNKNOWN
        pointers = {"map": {"index": INT}, "reduce": {"index": INT, "acc": UNKNOWN}}.get(name, {})
        self._collections.append((element, pointers))
        body = self.visit(node.children[1]) if len(node.children) > 1 else None
        self._collections.pop()
        self._visit_all(node.children[2:])
        if body and name not in ("map", "sum", "sortBy", "reduce") and body.name not in ("bool", "unknown"):
            raise ExpressionError(f"predicate should return boolean (got {body.name})")
        results = {
            "filter": Type("array", element), "map": Type("array", body), "count": INT, "sum": body or element,
            "find": element, "findLast": element, "findIndex": INT, "findLastIndex": INT, "sortBy": collection,
            "reduce": body,
        }  # fmt: skip
        return results.get(name, BOOL) or UNKNOWN

    def _predicate(self, node: Node) -> Type:
        return self.visit(node.children[0])

    def _pointer(self, node: Node) -> Type:
        element, pointers = self._collections[-1]
        if not node.value:
            return element
        if node.value in pointers:
            return pointers[node.value]
        raise ExpressionError(f"unknown pointer #{node.value}")

    def _let(self, node: Node) -> Type:
        name, (value, body) = node.value, node.children
        is_local = any(name == known for known, _ in self._locals)
        if is_local or name in self._variables or name in ENVIRONMENT or name in BUILTINS or name in PREDICATES:
            raise ExpressionError(f"cannot redeclare {name}")
        self._locals.append((name, self.visit(value)))
        result = self.visit(body)
        self._locals.pop()
        return result

    def _sequence(self, node: Node) -> Type:
        return self._visit_all(node.children)[-1]

    def _list(self, node: Node) -> Type:
        types = self._visit_all(node.children)
        return Type("array", types[0]) if len({known.name for known in types}) == 1 else ARRAY

    def _map(self, node: Node) -> Type:
        self._visit_all(node.children)
        return MAP


def _name(known: Type | None) -> str:
    return known.name if known else "unknown"


def _are_comparable(left: Type, right: Type) -> bool:
    names = {left.name, right.name}
    return bool(names & {"unknown", "nil"}) or len(names) == 1 or names <= _NUMBERS or names <= _ARRAYS


def _coalesced(left: Type, right: Type) -> Type:
    if left.name == "nil":
        return right
    return left if right.name in ("nil", left.name) else UNKNOWN


def _mismatch(operator: str, left: Type, right: Type) -> ExpressionError:
    return ExpressionError(f"invalid operation: {operator} (mismatched types {left.name} and {right.name})")


def _refuse_division_by_zero(left: Node, right: Node) -> None:
    if left.kind == right.kind == "literal" and right.value == 0:
        raise ExpressionError("integer divide by zero")
