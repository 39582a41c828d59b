"""Words of expr-lang (github.com/expr-lang/expr v1.17.7, parser/lexer)."""

import re

from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.syntax import Token

WORD_OPERATORS = frozenset(
    {"not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else"},
)

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<number>(?:0[xX][0-9a-fA-F_]*|0[oO][0-7_]*|0[bB][01_]*|[0-9][0-9_]*|\.(?=[0-9]))
                 (?:(?<!\.)\.(?!\.)[0-9_]*|(?<=\.)[0-9_]+)?(?:[eE][+-]?[0-9_]*)?)
    | (?P<word>[\w$]+)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<raw>`(?:[^`]|``)*`)
    | (?P<pointer>\#\#?(?P<pointer_name>[\w$]*))
    | (?P<bracket>[()\[\]{}])
    | (?P<operator>\?[.?]?|\|\|?|::?|[&!=*<>][&=*]?|\.\.?|[,;%+\-^/])
    """,
    re.DOTALL | re.VERBOSE,
)
_HEX = "[0-9A-Fa-f]"
_ESCAPE = re.compile(
    rf"\\(?:(?P<simple>[abfnrtv\\\"'])|(?P<octal>[0-3][0-7]{{2}})"
    rf"|x(?P<x>{_HEX}{{2}})|u\{{(?P<braced>{_HEX}{{1,6}})\}}|u(?P<u>{_HEX}{{4}})|U(?P<U>{_HEX}{{8}})|(?P<wrong>.?))",
    re.DOTALL,
)
_SIMPLE_ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_MOST_BITS = 63


def tokenize(source: str) -> list[Token]:
    """Tokens of kind name, operator, bracket, literal (its value is a Python value), number (its text) and end."""
    tokens: list[Token] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if not match:
            raise _unreadable(source, position)
        tokens.extend(_tokens_of(match, source))
        position = match.end()
    tokens.append(Token("end", "", max(position, 1)))
    return tokens


def number(token: Token) -> int | float:
    """The value of a number token. Raises ExpressionError for what does not fit 64 bits."""
    text = token.value.replace("_", "").lower()
    try:
        if text.startswith(("0x", "0b", "0o")):
            value: int | float = int(text, 0)
        elif "." in text or "e" in text:
            value = float(text)
        else:
            value = int(text)
    except ValueError:
        raise ExpressionError(f"invalid number literal {token.value}", token.column) from None
    if (isinstance(value, int) and value.bit_length() > _MOST_BITS) or value == float("inf"):
        raise ExpressionError(f"number literal {token.value} is too large", token.column)
    return value


def _tokens_of(match: re.Match[str], source: str) -> list[Token]:
    kind, text, column = match.lastgroup, match[0], match.start() + 1
    match kind:
        case "space":
            return []
        case "number" if source[match.end() : match.end() + 1].isalnum() or source[match.end() :].startswith(
            ("_", "$")
        ):
            raise ExpressionError(f"bad number syntax: {text}{source[match.end()]}", column)
        case "word":
            return [Token("operator" if text in WORD_OPERATORS else "name", text, column)]
        case "string":
            return [Token("string", _unescaped(text, column), column)]
        case "raw":
            return [Token("string", text[1:-1].replace("``", "`"), column)]
        case "pointer" | "pointer_name":
            name = match["pointer_name"]
            sign = Token("operator", text[: len(text) - len(name)], column)
            return [sign, Token("name", name, column + len(sign.value))] if name else [sign]
    return [Token(kind or "", text, column)]


def _unescaped(literal: str, column: int) -> str:
    def unescape(match: re.Match[str]) -> str:
        if simple := match["simple"]:
            if simple in "\"'" and simple != literal[0]:
                raise ExpressionError("invalid char escape", column + match.start())
            return _SIMPLE_ESCAPES.get(simple, simple)
        if match["octal"]:
            return chr(int(match["octal"], 8))
        digits = match["x"] or match["braced"] or match["u"] or match["U"]
        if not digits or int(digits, 16) > 0x10FFFF:
            raise ExpressionError("invalid char escape", column + match.start())
        code = int(digits, 16)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)

    text = literal.replace("\r\n", "\n").replace("\r", "\n")
    return _ESCAPE.sub(unescape, text[1:-1]) if "\\" in text else text[1:-1]


def _unreadable(source: str, position: int) -> ExpressionError:
    character = source[position]
    if character in "\"'`":
        return ExpressionError("literal not terminated", position + 1)
    return ExpressionError(f"unrecognized character: U+{ord(character):04X} {character!r}", position + 1)
