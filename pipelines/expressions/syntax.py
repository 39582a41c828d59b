"""What the languages share: tokens, syntax trees, and a cursor that a parser moves over tokens."""

from collections.abc import Sequence
from typing import Any

from argosy.pipelines.expressions.errors import ExpressionError

DEEPEST_NESTING = 100
DEEPEST_TREE = 200


class Token:
    """A word of the source. `column` counts characters from 1."""

    __slots__ = ("column", "kind", "value")

    def __init__(self, kind: str, value: Any, column: int) -> None:  # noqa: ANN401 - a literal of any type
        self.kind = kind
        self.value = value
        self.column = column


class Node:
    """A node of a syntax tree: what `value` and `children` hold is said where the `kind` is made.

    Raises ExpressionError where a tree grows too deep to be walked by recursion.
    """

    __slots__ = ("children", "column", "depth", "kind", "value")

    def __init__(self, kind: str, column: int, value: Any = None, children: Sequence["Node"] = ()) -> None:  # noqa: ANN401 - a name, an operator or a literal of any type
        self.kind = kind
        self.column = column
        self.value = value
        self.children = tuple(children)
        self.depth: int = 1 + max((child.depth for child in self.children), default=0)
        if self.depth > DEEPEST_TREE:
            raise ExpressionError("the expression is too deep", column)


class Cursor:
    """A place among tokens, of which the last has kind `end` and is never left."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._nesting = 0
        self.current = tokens[0]

    def advance(self) -> Token:
        """The current token; the cursor then stands on the next one."""
        token = self.current
        self._position = min(self._position + 1, len(self._tokens) - 1)
        self.current = self._tokens[self._position]
        return token

    def descend(self) -> None:
        """To be called where the grammar nests, so that hostile text ends in an error and not in Python's stack."""
        self._nesting += 1
        if self._nesting > DEEPEST_NESTING:
            raise ExpressionError("the expression is nested too deep", self.current.column)

    def ascend(self) -> None:
        self._nesting -= 1
