"""Go's regular expressions (RE2) run by Python's engine.

The two agree on most patterns. What differs is translated here, and what RE2 refuses (look-around, back-references) is
refused here as well. Unlike RE2, Python's engine can take exponential time on a hostile pattern.
"""

import re
from functools import lru_cache

from argosy.pipelines.expressions.errors import ExpressionError, UnsupportedExpression

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ", "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_ESCAPE = r"\\(?:x\{[0-9A-Fa-f]+\}|.)"
_PIECE = re.compile(
    rf"""\\Q(?P<quoted>.*?)(?:\\E|$)
    | (?P<escape>{_ESCAPE})
    | \[(?P<set>\^?\]?(?:{_ESCAPE}|\[:\^?\w+:\]|[^\]\\])*)\]
    | \(\?(?P<group>P?<(?=\w)|[imsU]*(?:-[imsU]+)?[:)])
    | (?P<lookaround>\(\?)
    | (?P<open>\()
    | (?P<close>\))
    | (?P<end>\$)
    | (?P<repeat>(?:[*+?]|\{{\d+(?:,\d*)?\}})\??)(?P<again>[*+])?
    | (?P<brace>\{{)""",
    re.DOTALL | re.VERBOSE,
)
_MEMBER = re.compile(
    rf"(?P<escape>{_ESCAPE})|\[:(?P<name>\^?\w+):\]|(?P<special>[\[&|~])|(?P<first>(?<![^^])\])",
    re.DOTALL,
)
_SPACE = r"\t\n\f\r "
_SPACES = {r"\s": f"[{_SPACE}]", r"\S": f"[^{_SPACE}]"}
"""Unlike Python's, Go's have no vertical tab."""

_MOST_REPEATS = 1000


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, ready to search. Raises ExpressionError for what Go would refuse."""
    try:
        return re.compile(_Translation(pattern).text, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ExpressionError(f"error parsing regexp: {error}: `{pattern}`") from None


class _Translation:
    """One pattern on its way from Go to Python. `(?i)` holds to the end of its group in Go, and becomes a group."""

    def __init__(self, pattern: str) -> None:
        self._multiline = [False]
        self._opened_by_flags = [0]
        body = _PIECE.sub(self._piece, pattern)
        self.text = body + ")" * self._opened_by_flags[0]

    def _piece(self, match: re.Match[str]) -> str:  # noqa: C901, PLR0911 - one case for each kind of piece
        kind = match.lastgroup or "quoted"
        text = match[0]
        match kind:
            case "quoted":
                return re.escape(match["quoted"])
            case "escape":
                return _SPACES.get(text) or _escape(text)
            case "set":
                return f"[{_MEMBER.sub(_member, match['set'])}]"
            case "group":
                return self._group(match["group"])
            case "open":
                self._enter(multiline=self._multiline[-1])
            case "close":
                return self._leave()
            case "end":
                return text if self._multiline[-1] else r"\Z"
            case "brace":
                return r"\{"
            case "lookaround" | "again":
                raise ExpressionError(f"error parsing regexp: invalid or unsupported Perl syntax: `{text}`")
            case "repeat" if any(int(count) > _MOST_REPEATS for count in re.findall(r"\d+", text)):
                raise ExpressionError(f"error parsing regexp: invalid repeat count: `{text}`")
        return text

    def _group(self, head: str) -> str:
        if head in ("P<", "<"):
            self._enter(multiline=self._multiline[-1])
            return "(?P<"
        switched_on, _, switched_off = head[:-1].partition("-")
        if "U" in head:
            raise UnsupportedExpression(f"unsupported in a regular expression: the ungreedy flag `(?{head}`")
        multiline = "m" not in switched_off and ("m" in switched_on or self._multiline[-1])
        if head.endswith(":"):
            self._enter(multiline=multiline)
        else:
            self._multiline[-1] = multiline
            self._opened_by_flags[-1] += 1
        return f"(?{head[:-1]}:"

    def _enter(self, *, multiline: bool) -> None:
        self._multiline.append(multiline)
        self._opened_by_flags.append(0)

    def _leave(self) -> str:
        if len(self._multiline) == 1:
            raise ExpressionError("error parsing regexp: unexpected ): `)`")
        self._multiline.pop()
        return ")" * (1 + self._opened_by_flags.pop())


def _escape(text: str) -> str:
    letter = text[1]
    if letter == "z":
        return r"\Z"
    if text.startswith(r"\x{"):
        code = int(text[3:-1], 16)
        if code <= 0x10FFFF:
            return re.escape(chr(code))
    elif letter in "Ax0abBdDfnrsStvwW" or not letter.isalnum():
        return text
    if letter in "pPC":
        raise UnsupportedExpression(f"unsupported in a regular expression: `{text}`")
    raise ExpressionError(f"error parsing regexp: invalid escape sequence: `{text}`")


def _member(match: re.Match[str]) -> str:
    if match["escape"] == r"\s":
        return _SPACE
    if match["escape"]:
        return _escape(match["escape"])
    if name := match["name"]:
        if name not in _CLASSES:
            raise ExpressionError(f"error parsing regexp: invalid character class range: `[:{name}:]`")
        return _CLASSES[name]
    return "\\" + match[0]
