"""Argo's `{{name}}` and `{{=expression}}` tags (util/template).

Argo substitutes in the JSON text of a whole object: a tag may even begin in one string and end in the next. So do we.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from argosy.pipelines.expressions import expr, golang
from argosy.pipelines.expressions.errors import ExpressionError, UnresolvedTag, UnsupportedExpression
from argosy.pipelines.expressions.expr_functions import ENVIRONMENT
from argosy.pipelines.expressions.expr_lexer import tokenize
from argosy.pipelines.expressions.syntax import Node

DEFERRED = (
    "item", "retries", "lastRetry.exitCode", "lastRetry.status", "lastRetry.duration", "lastRetry.message",
    "workflow.status", "workflow.failures",
)  # fmt: skip
"""Variables that come late: an expression that names one stays until it is there (expression_template.go:31)."""

_INVALID_RESULT = "cannot finish template replacement because the result was invalid JSON"
_HTML_ESCAPE = re.compile(r"\\u00(3c|3e|26)")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def substitute(text: str, scope: Mapping[str, str], strict_prefixes: Sequence[str] = ()) -> str:
    """`substitute_tree` for one string."""
    return str(substitute_tree(text, scope, strict_prefixes)) if "{{" in text else text


def substitute_tree(tree: Any, scope: Mapping[str, str], strict_prefixes: Sequence[str] = ()) -> Any:  # noqa: ANN401 - any JSON
    """Plain JSON data with every tag replaced by its value; the very same object where there is nothing to replace.

    `scope` has dotted names (`inputs.parameters.x`). A tag that has no value stays as it is, unless its name is one of
    `strict_prefixes` or continues one after a dot: then UnresolvedTag is raised. The prefix `""` is every name's.
    ExpressionError is raised for an unclosed tag, for a value that Argo cannot insert (control characters), for an
    expression that cannot be read, and, with strict prefixes, for one that fails although its variables are there.
    """
    text = _encode(tree)
    if "{{" not in text:
        return tree
    parts = _parts(text)
    parts[1::2] = map(_Substitution(scope, tuple(strict_prefixes)).of, parts[1::2])
    try:
        return json.loads("".join(parts))
    except ValueError:
        raise ExpressionError(_INVALID_RESULT) from None


def tag_names(tree: object) -> list[str]:
    """Every tag in order: the name of a simple one, `=` and the expression of the other kind.

    Raises ExpressionError for an unclosed tag.
    """
    tags = _parts(_encode(tree))[1::2]
    return ["=" + _decoded(tag[1:]) if tag.startswith("=") else tag.strip(golang.WHITE_SPACE) for tag in tags]


def expand(scope: Mapping[str, str]) -> dict[str, Any]:
    """Dotted names as nested maps; a name that is also the beginning of others gives way to them (util/expand)."""
    nested: dict[str, Any] = {}
    for name in sorted(scope):
        *parents, last = name.split(".")
        place = nested
        for parent in parents:
            child = place.get(parent)
            if not isinstance(child, dict):
                child = place[parent] = {}
            place = child
        place.setdefault(last, scope[name])
    return nested


class _Substitution:
    """One pass over one object. A tag and what replaces it are JSON text, without the quotes around a string."""

    def __init__(self, scope: Mapping[str, str], strict_prefixes: tuple[str, ...]) -> None:
        self._scope = scope
        self._strict_prefixes = strict_prefixes
        self._variables: dict[str, Any] | None = None

    def of(self, tag: str) -> str:
        if tag.startswith("="):
            return self._expression(tag[1:])
        value = self._scope.get(tag.strip(golang.WHITE_SPACE))
        return self._without_value(tag) if value is None else golang.quote(value)[1:-1]

    def _without_value(self, tag: str) -> str:
        """In `{{inputs.parameters.{{name}}}}` the inner tag is replaced, and the outer one by the next pass."""
        outer, _, inner = tag.rpartition("{{")
        if outer and inner in self._scope:
            return "{{" + outer + golang.quote(self._scope[inner])[1:-1]
        name = tag.strip(golang.WHITE_SPACE)
        may_come_later = ".outputs.artifacts." in name and "" not in self._strict_prefixes
        if self._is_strict(name) and not may_come_later:
            raise UnresolvedTag(f"failed to resolve {{{{{tag}}}}}", name)
        return "{{" + tag + "}}"

    def _is_strict(self, name: str) -> bool:
        return any(prefix in ("", name) or name.startswith(prefix + ".") for prefix in self._strict_prefixes)

    def _expression(self, tag: str) -> str:
        if _HTML_ESCAPE.search(tag):  # Argo takes these for escapes of its own, and cuts them in two (kind.go:22)
            raise ExpressionError(_INVALID_RESULT)
        expression = _decoded(tag)
        if self._variables is None:
            self._variables = expand(self._scope)
        missing = [name for name in _identifiers(expression) if not _is_known(name, self._variables)]
        if strict := [name for name in missing if self._is_strict(name)]:
            name = strict[0] if "" in self._strict_prefixes else max(strict, key=len)
            raise UnresolvedTag(f"failed to evaluate expression: {name} is missing", name)
        may_stay = bool(missing) or not self._strict_prefixes
        if may_stay and any(not _is_known(name, self._variables) for name in _deferred(expression)):
            return "{{=" + tag + "}}"
        try:
            return _inserted(expr.evaluate(expression, self._variables))
        except UnsupportedExpression:
            raise
        except ExpressionError as error:
            if may_stay:
                return "{{=" + tag + "}}"
            raise error.reworded(f"failed to evaluate expression: {error}") from None


def _parts(text: str) -> list[str]:
    """Text and tags in turn, tags without their braces: a tag is what is between a `{{` and the next `}}`."""
    first, *rest = text.split("{{")
    parts = [first]
    openings = iter(rest)
    for opening in openings:
        tag, closing, following = opening.partition("}}")
        while not closing:
            more = next(openings, None)
            if more is None:
                raise ExpressionError(f'Cannot find end tag="}}}}" starting from {tag[:60]!r}')
            inner, closing, following = more.partition("}}")
            tag += "{{" + inner
        parts += (tag, following)
    return parts


def _decoded(tag: str) -> str:
    try:
        return str(json.loads(f'"{tag}"'))
    except ValueError:
        raise ExpressionError(f"failed to unmarshall JSON expression: {tag}") from None


def _inserted(value: object) -> str:
    if value is None:
        raise ExpressionError("the value is nil")
    marshalled = golang.marshal(value)
    return marshalled[1:-1] if isinstance(value, str) else golang.quote(marshalled)[1:-1]


@lru_cache(maxsize=1024)
def _identifiers(expression: str) -> tuple[str, ...]:
    """Names and dotted paths that an expression reads."""
    found: dict[str, None] = {}

    def walk(node: Node) -> None:
        for child in node.children:
            walk(child)
        if path := _path(node):
            found[path] = None

    try:
        walk(expr.parse(expression))
    except ExpressionError as error:
        raise error.reworded(f"failed to evaluate expression: {error.message}", error.column) from None
    return tuple(found)


def _path(node: Node) -> str:
    if node.kind == "name":
        return str(node.value)
    if node.kind != "member":
        return ""
    base, key = node.children
    parent = _path(base)
    return f"{parent}.{key.value}" if parent and isinstance(key.value, str) and key.kind == "literal" else ""


def _is_known(path: str, variables: Mapping[str, Any]) -> bool:
    first, *rest = path.split(".")
    if first in ENVIRONMENT:
        return True
    place: Any = variables
    for part in (first, *rest):
        if not isinstance(place, dict) or part not in place:
            return False
        place = place[part]
    return True


@lru_cache(maxsize=1024)
def _deferred(expression: str) -> tuple[str, ...]:
    if not any(name in expression for name in DEFERRED):
        return ()
    words = [(token.kind, token.value) for token in tokenize(expression)]
    return tuple(name for name in DEFERRED if name in expression and _occurs(words, name))


def _occurs(words: list[tuple[str, Any]], name: str) -> bool:
    wanted = [(token.kind, token.value) for token in tokenize(name)[:-1]]
    return any(words[start : start + len(wanted)] == wanted for start in range(len(words)))
