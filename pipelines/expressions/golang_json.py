"""What Go says of a text that is no JSON (encoding/json/scanner.go)."""

import json

from argosy.pipelines.expressions.golang import quote

_LITERALS = {"t": "true", "f": "false", "n": "null"}
_PLACES = {
    "Extra data": "after top-level value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Invalid control character at": "in string literal",
}
"""Python's words for what is wrong -> Go's for where it is."""


def json_problem(text: str, error: json.JSONDecodeError) -> str:
    """Python's error in Go's words; where the two see different kinds of mistakes, Python's own."""
    if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    if error.msg == "Expecting value":
        return _no_value(text, error.pos)
    place = _PLACES.get(error.msg)
    return f"invalid character {_quoted(text[error.pos])} {place}" if place else str(error)


def _no_value(text: str, start: int) -> str:
    """A word that is none of JSON's three differs from one of them at some character, or before all of them."""
    literal = _LITERALS.get(text[start], "")
    for expected, found in zip(literal[1:], text[start + 1 :] + " ", strict=False):
        if found != expected:
            return f"invalid character {_quoted(found)} in literal {literal} (expecting {_quoted(expected)})"
    return f"invalid character {_quoted(text[start])} looking for beginning of value"


def _quoted(character: str) -> str:
    """Of a character of several bytes Go shows the first."""
    return {"'": r"'\''", '"': "'\"'"}.get(character) or f"'{quote(chr(character.encode()[0]))[1:-1]}'"
