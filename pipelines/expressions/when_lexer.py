"""Words of govaluate, and which may follow which (parsing.go, lexerState.go)."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from argosy.pipelines.expressions import dates, golang, regex
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.syntax import Token

PREFIXES = frozenset({"-", "!", "~"})
MODIFIERS = frozenset({"+", "-", "*", "/", "%", "**", "&", "|", "^", ">>", "<<"})
LOGICAL = frozenset({"&&", "||"})
COMPARATORS = frozenset({"==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in"})
TERNARY = frozenset({"?", ":", "??"})

_VALUES = {"NUMERIC", "BOOLEAN", "VARIABLE", "ACCESSOR", "CLAUSE"}
_START = _VALUES | {"PREFIX", "STRING", "TIME", "PATTERN"}
_AFTER_VALUE = {"MODIFIER", "COMPARATOR", "LOGICALOP", "CLAUSE_CLOSE", "SEPARATOR"}
_FOLLOWERS = {
    "UNKNOWN": _START,
    "CLAUSE": _START | {"CLAUSE_CLOSE"},
    "CLAUSE_CLOSE": (_START | _AFTER_VALUE | {"TERNARY"}) - {"PREFIX", "ACCESSOR"},
    "NUMERIC": _AFTER_VALUE | {"TERNARY"},
    "BOOLEAN": _AFTER_VALUE | {"TERNARY"},
    "STRING": _AFTER_VALUE | {"TERNARY"},
    "TIME": _AFTER_VALUE,
    "PATTERN": _AFTER_VALUE,
    "VARIABLE": _AFTER_VALUE | {"TERNARY"},
    "MODIFIER": (_START | {"CLAUSE_CLOSE"}) - {"TIME", "PATTERN"},
    "COMPARATOR": _START | {"CLAUSE_CLOSE"},
    "LOGICALOP": (_START | {"CLAUSE_CLOSE"}) - {"PATTERN"},
    "PREFIX": _VALUES | {"CLAUSE_CLOSE"},
    "TERNARY": (_START | {"SEPARATOR"}) - {"PATTERN"},
    "ACCESSOR": _AFTER_VALUE | {"TERNARY", "CLAUSE"},
    "SEPARATOR": _START - {"PATTERN"},
}
_LAST = {"CLAUSE_CLOSE", "NUMERIC", "BOOLEAN", "STRING", "TIME", "PATTERN", "VARIABLE", "ACCESSOR"}

_TIME_LAYOUTS = (
    "Mon Jan _2 15:04:05 2006", "Mon Jan _2 15:04:05 MST 2006", "Mon Jan 02 15:04:05 -0700 2006", "3:04PM",
    "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.999999999Z07:00", "2006-01-02", "2006-01-02 15:04",
    "2006-01-02 15:04:05", "2006-01-02 15:04:05-07:00", "2006-01-02T15Z0700", "2006-01-02T15:04Z0700",
    "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05.999999999Z0700",
)  # fmt: skip
_MAY_BE_TIME = re.compile(r"\d{4}-|\d\d?:|[A-Za-z]{3} ")


class Pattern:
    """A constant regular expression: it prints as its text, but is none."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        regex.compiled(text)
        self._text = text

    def __str__(self) -> str:
        return self._text


def tokenize(source: str) -> list[Token]:
    """Tokens in an order that may be, without an end. Raises ExpressionError in govaluate's words, with the column."""
    reader = _Reader(source)
    tokens: list[Token] = []
    while token := reader.token(tokens[-1].kind if tokens else "UNKNOWN"):
        tokens.append(token)
    kinds = [token.kind for token in tokens]
    if kinds.count("CLAUSE") != kinds.count("CLAUSE_CLOSE"):
        raise ExpressionError("Unbalanced parenthesis")
    _check_order(tokens)
    return _with_patterns(tokens)


def barewords_as_strings(tokens: Sequence[Token]) -> list[Token]:
    """The same words with every bare one a string, as Argo rewrites them (workflow/controller/steps.go:389)."""
    strings = [Token("STRING", token.value, token.column) if token.kind == "VARIABLE" else token for token in tokens]
    _check_order(strings)
    return _with_patterns(strings)


def _check_order(tokens: Sequence[Token]) -> None:
    previous = Token("UNKNOWN", None, 0)
    for token in tokens:
        if token.kind not in _FOLLOWERS[previous.kind]:
            if previous.kind == "VARIABLE" and token.kind == "CLAUSE":
                raise ExpressionError(f"Undefined function {previous.value}", previous.column)
            states = f"{_described(previous)} to {_described(token)}"
            raise ExpressionError(f"Cannot transition token types from {states}", token.column)
        previous = token
    if previous.kind not in _LAST:
        raise ExpressionError("Unexpected end of expression", previous.column)


def _described(token: Token) -> str:
    value = token.value
    if token.kind in ("CLAUSE", "CLAUSE_CLOSE"):  # Go prints the number of the character
        value = ord(value)
    elif token.kind == "TIME":
        value = dates.write("2006-01-02 15:04:05 -0700 MST", value)
    return f"{token.kind} [{golang.format_value(value)}]"


def _with_patterns(tokens: Sequence[Token]) -> list[Token]:
    """A constant text right of =~ is compiled at once."""
    found = list(tokens)
    for index, (operator, token) in enumerate(pairwise(tokens), start=1):
        if token.kind == "STRING" and operator.kind == "COMPARATOR" and operator.value in ("=~", "!~"):
            found[index] = _pattern(token)
    return found


def _pattern(token: Token) -> Token:
    try:
        return Token("PATTERN", Pattern(token.value), token.column)
    except ExpressionError as error:
        raise error.reworded(error.message, token.column) from None


class _Reader:
    """govaluate's reader of characters. A backslash takes the next character as it is, in every word."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._position = 0

    def token(self, previous: str) -> Token | None:
        while self._source[self._position : self._position + 1].isspace():
            self._position += 1
        if self._position >= len(self._source):
            return None
        start = self._position
        try:
            kind, value = self._word(self._source[start], previous)
        except ExpressionError as error:
            raise ExpressionError(error.message, start + 1) from None
        return Token(kind, value, start + 1)

    def _word(self, character: str, previous: str) -> tuple[str, object]:
        if _is_numeric(character):
            return "NUMERIC", self._number()
        if character.isalpha():
            return _named(self._read(_is_of_name))
        if character in "\"'":
            text = self._enclosed(_is_no_quote, "Unclosed string literal")
            moment = _moment(text)
            return ("STRING", text) if moment is None else ("TIME", moment)
        if character == "[":
            return "VARIABLE", self._enclosed(lambda closing: closing != "]", "Unclosed parameter bracket")
        if character in ",()":
            self._position += 1
            return {",": "SEPARATOR", "(": "CLAUSE", ")": "CLAUSE_CLOSE"}[character], character
        return _symbol(self._read(_is_of_symbol), may_be_prefix="PREFIX" in _FOLLOWERS[previous])

    def _number(self) -> float:
        if self._source[self._position : self._position + 2] == "0x":
            self._position += 2
            text = self._read(_is_hexadecimal)
            if not re.fullmatch("0*[0-9a-fA-F]{1,16}", text):
                raise ExpressionError(f"Unable to parse hex value '{text}' to uint64")
            return float(int(text, 16))
        text = self._read(_is_numeric)
        number = golang.parse_float(text)
        if number is None:
            raise ExpressionError(f"Unable to parse numeric value '{text}' to float64")
        return number

    def _enclosed(self, is_inside: Callable[[str], bool], unclosed: str) -> str:
        self._position += 1
        text = self._read(is_inside, with_spaces=True)
        if self._position >= len(self._source):
            raise ExpressionError(unclosed)
        self._position += 1
        return text

    def _read(self, is_part: Callable[[str], bool], *, with_spaces: bool = False) -> str:
        read: list[str] = []
        while self._position < len(self._source):
            character = self._source[self._position]
            if character == "\\":
                self._position += 1
                if self._position >= len(self._source):
                    raise ExpressionError("a backslash with nothing behind it")
                read.append(self._source[self._position])
            elif character.isspace() and not with_spaces:
                if read:
                    break
            elif is_part(character):
                read.append(character)
            else:
                break
            self._position += 1
        return "".join(read)


def _named(name: str) -> tuple[str, object]:
    if name in ("true", "false"):
        return "BOOLEAN", name == "true"
    if name in ("in", "IN"):
        return "COMPARATOR", "in"
    if "." not in name[1:]:
        return "VARIABLE", name
    if name.endswith("."):
        raise ExpressionError(f"Hanging accessor on token '{name}'")
    parts = name.split(".")
    for part in parts[1:]:
        if part[:1].upper() != part[:1]:
            raise ExpressionError(f"Unable to access unexported field '{part}' in token '{name}'")
    return "ACCESSOR", parts


def _symbol(symbol: str, *, may_be_prefix: bool) -> tuple[str, object]:
    kinds = {"MODIFIER": MODIFIERS, "LOGICALOP": LOGICAL, "COMPARATOR": COMPARATORS, "TERNARY": TERNARY}
    if may_be_prefix:
        kinds = {"PREFIX": PREFIXES, **kinds}
    for kind, symbols in kinds.items():
        if symbol in symbols:
            return kind, symbol
    raise ExpressionError(f"Invalid token: '{symbol}'")


def _moment(text: str) -> int | None:
    if not _MAY_BE_TIME.match(text):
        return None
    return next((moment for layout in _TIME_LAYOUTS if (moment := dates.read(layout, text)) is not None), None)


def _is_numeric(character: str) -> bool:
    return character.isdecimal() or character == "."


def _is_hexadecimal(character: str) -> bool:
    return character.isdecimal() or character.lower() in "abcdef"


def _is_of_name(character: str) -> bool:
    return character.isalpha() or character.isdecimal() or character in "_."


def _is_no_quote(character: str) -> bool:
    return character not in "\"'"


def _is_of_symbol(character: str) -> bool:
    return not (character.isdecimal() or character.isalpha() or character in "()[]\"'")
