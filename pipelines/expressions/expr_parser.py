"""Grammar of expr-lang (github.com/expr-lang/expr v1.17.7, parser/parser.go).

Kinds of nodes, with their value and children:
    literal: the value                      name: the name                       pointer: the name behind #, or ""
    unary: the operator; operand            binary: the operator; left, right    and, or: every operand of a chain
    conditional: condition, then, else      member: is it optional; base, key    chain: the members that ?. may leave
    slice: base, from, to (or absent)       call: callee, arguments              builtin: its name; arguments
    predicate: the body                     let: the name; value, body           sequence: expressions
    list: items                             map: key, value, key, value, ...
"""

from collections.abc import Callable
from functools import lru_cache

from argosy.pipelines.expressions.errors import ExpressionError, UnsupportedExpression
from argosy.pipelines.expressions.expr_functions import BUILTINS, PREDICATES, UNSUPPORTED
from argosy.pipelines.expressions.expr_lexer import number, tokenize
from argosy.pipelines.expressions.syntax import Cursor, Node, Token

BINARY = {
    "|": 0, "or": 10, "||": 10, "and": 15, "&&": 15, "==": 20, "!=": 20, "<": 20, ">": 20, ">=": 20, "<=": 20,
    "in": 20, "matches": 20, "contains": 20, "startsWith": 20, "endsWith": 20, "..": 25, "+": 30, "-": 30,
    "*": 60, "/": 60, "%": 60, "**": 100, "^": 100, "??": 500,
}  # fmt: skip
UNARY = {"not": 50, "!": 50, "-": 90, "+": 90}
COMPARISONS = frozenset({"<", ">", "<=", ">="})
NEGATABLE = frozenset({"in", "matches", "contains", "startsWith", "endsWith"})
RIGHT_ASSOCIATIVE = frozenset({"**", "^"})
CHAINS = {"and": "and", "&&": "and", "or": "or", "||": "or"}
CONSTANTS = {"true": True, "false": False, "nil": None}
MOST_NODES = 10_000
"""conf.DefaultMaxNodes: a `depends` of more than some 800 tasks exceeds it on a cluster as well."""


@lru_cache(maxsize=1024)
def parse(expression: str) -> Node:
    """The syntax tree. Raises ExpressionError with the column of what cannot be read."""
    parser = _Parser(tokenize(expression))
    tree = parser.sequence()
    if parser.current.kind != "end":
        raise parser.unexpected()
    return tree


class _Parser(Cursor):
    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._nodes = 0
        self._predicates = 0

    def unexpected(self) -> ExpressionError:
        token = self.current
        if token.kind == "end":
            return ExpressionError("unexpected end of expression", token.column)
        return ExpressionError(f"unexpected token {token.value!r}", token.column)

    def sequence(self) -> Node:
        nodes = [self._expression(0)]
        column = self.current.column
        while self._accept(";"):
            if self.current.kind == "end":
                break
            nodes.append(self._expression(0))
        return nodes[0] if len(nodes) == 1 else self._node("sequence", column, None, nodes)

    def _node(self, kind: str, column: int, value: object = None, children: list[Node] | tuple[Node, ...] = ()) -> Node:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise ExpressionError(f"compilation failed: expression exceeds maximum allowed nodes ({MOST_NODES})")
        return Node(kind, column, value, children)

    def _is(self, *values: str) -> bool:
        return self.current.kind in ("operator", "bracket") and self.current.value in values

    def _accept(self, value: str) -> bool:
        if not self._is(value):
            return False
        self.advance()
        return True

    def _expect(self, value: str) -> None:
        if not self._accept(value):
            raise self.unexpected()

    def _expect_name(self) -> Token:
        if self.current.kind != "name":
            raise self.unexpected()
        return self.advance()

    def _expression(self, precedence: int) -> Node:
        self.descend()
        if precedence == 0 and self._is("let"):
            node = self._let()
        elif precedence == 0 and self._is("if"):
            node = self._if()
        else:
            node = self._operators(self._primary(), precedence)
            while precedence == 0 and self._is("?"):
                node = self._conditional(node)
        self.ascend()
        return node

    def _operators(self, left: Node, precedence: int) -> Node:
        previous = ""
        while self.current.kind == "operator":
            operator, is_negated = self.current, self._is("not")
            if is_negated:
                operator = self._tokens[self._position + 1]
                if operator.kind != "operator" or operator.value not in NEGATABLE:
                    self.advance()
                    raise self.unexpected()
            level = BINARY.get(operator.value, -1)
            if level < precedence:
                break
            if is_negated:
                self.advance()
            self.advance()
            if previous == "??" and operator.value not in ("??", "|"):
                message = f"Operator ({operator.value}) and coalesce expressions (??) cannot be mixed. Use parentheses."
                raise ExpressionError(message, operator.column)
            left = self._binary(left, operator, level)
            if is_negated:
                left = self._node("unary", operator.column, "not", [left])
            previous = operator.value
        return left

    def _binary(self, left: Node, operator: Token, level: int) -> Node:
        if operator.value == "|":
            return self._call(self._expect_name(), [left])
        if operator.value in COMPARISONS:
            return self._comparison(left, operator, level)
        right = self._expression(level if operator.value in RIGHT_ASSOCIATIVE else level + 1)
        return self._combined(operator, left, right)

    def _combined(self, operator: Token, left: Node, right: Node) -> Node:
        chain = CHAINS.get(operator.value)
        if not chain:
            return self._node("binary", operator.column, operator.value, [left, right])
        operands = left.children if left.kind == chain else (left,)
        return self._node(chain, operator.column, operator.value, (*operands, right))

    def _comparison(self, left: Node, operator: Token, level: int) -> Node:
        """`1 < a < 3` is `1 < a && a < 3`."""
        root: Node | None = None
        while True:
            right = self._expression(level + 1)
            comparison = self._node("binary", operator.column, operator.value, [left, right])
            root = comparison if root is None else self._node("and", operator.column, "&&", [root, comparison])
            left = right
            if not self._is(*COMPARISONS):
                return root
            operator = self.advance()

    def _let(self) -> Node:
        self.advance()
        name = self._expect_name()
        self._expect("=")
        value = self._expression(0)
        self._expect(";")
        return self._node("let", name.column, name.value, [value, self.sequence()])

    def _if(self) -> Node:
        self.descend()
        column = self.advance().column
        condition = self._expression(0)
        then = self._block()
        self._expect("else")
        otherwise = self._if() if self._is("if") else self._block()
        self.ascend()
        return self._node("conditional", column, None, [condition, then, otherwise])

    def _block(self) -> Node:
        self._expect("{")
        node = self.sequence()
        self._expect("}")
        return node

    def _conditional(self, condition: Node) -> Node:
        column = self.advance().column
        if self._accept(":"):
            then = condition
        else:
            then = self._expression(0)
            self._expect(":")
        return self._node("conditional", column, None, [condition, then, self._expression(0)])

    def _primary(self) -> Node:
        token = self.current
        if token.kind == "operator" and token.value in UNARY:
            self.advance()
            operand = self._expression(UNARY[token.value])
            return self._postfix(self._node("unary", token.column, token.value, [operand]))
        if self._accept("("):
            node = self.sequence()
            self._expect(")")
            return self._postfix(node)
        if self._predicates and self._is("#", "."):
            name = ""
            if self._accept("#") and self.current.kind == "name":
                name = self.advance().value
            return self._postfix(self._node("pointer", token.column, name))
        if self._accept("::"):
            return self._postfix(self._call(self._expect_name(), []))
        return self._operand()

    def _operand(self) -> Node:
        token = self.current
        match token.kind:
            case "name":
                self.advance()
                if token.value in CONSTANTS:
                    return self._node("literal", token.column, CONSTANTS[token.value])
                node = self._call(token, []) if self._is("(") else self._node("name", token.column, token.value)
            case "number":
                self.advance()
                return self._node("literal", token.column, number(token))
            case "string":
                self.advance()
                node = self._node("literal", token.column, token.value)
            case "bracket" if token.value == "[":
                self.advance()
                node = self._node("list", token.column, None, self._items("]", lambda: [self._expression(0)]))
            case "bracket" if token.value == "{":
                self.advance()
                node = self._node("map", token.column, None, self._items("}", self._pair))
            case _:
                raise self.unexpected()
        return self._postfix(node)

    def _items(self, closing: str, item: Callable[[], list[Node]]) -> list[Node]:
        nodes: list[Node] = []
        while not self._is(closing):
            if nodes:
                self._expect(",")
                if self._is(closing):
                    break
            nodes += item()
        self._expect(closing)
        return nodes

    def _pair(self) -> list[Node]:
        token = self.current
        if token.kind in ("number", "string", "name"):
            key = self._node("literal", token.column, self.advance().value)
        elif self._is("("):
            key = self._expression(0)
        else:
            message = "a map key must be a quoted string, a number, a name, or an expression in parentheses"
            raise ExpressionError(f"{message} (unexpected token {token.value!r})", token.column)
        self._expect(":")
        self._nodes += 1
        return [key, self._expression(0)]

    def _call(self, name: Token, arguments: list[Node]) -> Node:
        if name.value in UNSUPPORTED:
            raise UnsupportedExpression(f"unsupported function {name.value}", name.column)
        if name.value in PREDICATES:
            arguments = arguments + self._predicate_arguments(PREDICATES[name.value][len(arguments) :])
            return self._node("builtin", name.column, name.value, arguments)
        callee = None if name.value in BUILTINS else self._node("name", name.column, name.value)
        self._expect("(")
        arguments = arguments + self._items(")", lambda: [self._expression(0)])
        if callee is None:
            return self._node("builtin", name.column, name.value, arguments)
        return self._node("call", name.column, None, [callee, *arguments])

    def _predicate_arguments(self, shapes: str) -> list[Node]:
        """One letter a shape: `e` an expression, `p` a predicate; `E` and `P` may be left out."""
        arguments: list[Node] = []
        self._expect("(")
        for shape in shapes:
            if self._is(")"):
                if shape.isupper():
                    break
                raise ExpressionError(f"expected at least {len(shapes)} arguments", self.current.column)
            if arguments:
                self._expect(",")
            arguments.append(self._predicate() if shape in "pP" else self._expression(0))
        self._accept(",")
        self._expect(")")
        return arguments

    def _predicate(self) -> Node:
        column = self.current.column
        self._predicates += 1
        if self._is("{"):
            body = self._block()
        else:
            body = self._expression(0)
            if self._is(";"):
                raise ExpressionError("wrap predicate with brackets { and }", self.current.column)
        self._predicates -= 1
        return self._node("predicate", column, None, [body])

    def _postfix(self, node: Node) -> Node:
        while self._is(".", "?.", "["):
            token = self.advance()
            is_optional = token.value == "?."
            if token.value == "[":
                node = self._subscript(node, token, is_optional=False)
            elif is_optional and self._is("["):
                node = self._subscript(node, self.advance(), is_optional=True)
            else:
                node = self._property(node, is_optional=is_optional)
        return node

    def _property(self, base: Node, *, is_optional: bool) -> Node:
        name = self.advance()
        if name.kind != "name" and not (name.kind == "operator" and name.value.isalpha()):
            raise ExpressionError("expected name", name.column)
        is_chain = base.kind == "chain"
        key = self._node("literal", name.column, name.value)
        node = self._node("member", name.column, is_optional, [base.children[0] if is_chain else base, key])
        if self._accept("("):
            node = self._node("call", name.column, None, [node, *self._items(")", lambda: [self._expression(0)])])
        return self._node("chain", name.column, None, [node]) if is_chain or is_optional else node

    def _subscript(self, base: Node, bracket: Token, *, is_optional: bool) -> Node:
        absent = Node("absent", bracket.column)
        start = absent if self._is(":") else self._expression(0)
        if self._accept(":"):
            end = absent if self._is("]") else self._expression(0)
            self._expect("]")
            return self._node("slice", bracket.column, None, [base, start, end])
        self._expect("]")
        node = self._node("member", bracket.column, is_optional, [base, start])
        return self._node("chain", bracket.column, None, [node]) if is_optional else node
