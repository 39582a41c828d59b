"""How Go reads and writes values: Argo's text is Go's text, to the last digit."""

import json
import math
import re
from json.encoder import encode_basestring

from argosy.pipelines.expressions.errors import ExpressionError

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""What strings.TrimSpace trims."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?=[0-9a-fA-F._])[0-9a-fA-F_]*\.?[0-9a-fA-F_]*[pP][+-]?[0-9]+")
_NOT_FINITE = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE)
_NOT_PLAIN = re.compile(r"[^ !#-\[\]-~]")
_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
_CONSTANTS = {None: "null", True: "true", False: "false"}
_NAMED_ESCAPES = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r", 34: r"\"", 92: r"\\"}


def any_string(value: str | float | bool) -> str:
    """A parameter's value as Argo keeps it: a number passes through float64 (workflow/v1alpha1/anystring.go:23)."""
    if isinstance(value, bool):
        return _CONSTANTS[value]
    return value if isinstance(value, str) else format_plain(float(value))


def format_plain(number: float) -> str:
    """strconv.FormatFloat(number, 'f', -1, 64): the fewest digits that read back, never an exponent."""
    sign, digits, point = _decimal(number)
    if not digits:
        return sign
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def format_value(value: object) -> str:
    """fmt.Sprintf("%v", value)."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return _CONSTANTS[value]
        case float():
            return _format_general(value)
        case list():
            return f"[{' '.join(map(format_value, value))}]"
        case dict():
            return (
                f"map[{' '.join(f'{format_value(key)}:{format_value(value[key])}' for key in sorted(value, key=str))}]"
            )
    return str(value)


def quote(text: str) -> str:
    """strconv.Quote(text). Go's and Python's Unicode tables may differ for characters younger than both."""
    return f'"{_NOT_PLAIN.sub(_quoted, text)}"'


def marshal(value: object, indent: str = "") -> str:
    """json.Marshal(value), or json.MarshalIndent with an indent. Raises ExpressionError for what JSON cannot hold."""
    try:
        return _marshalled(value, indent, "\n")
    except RecursionError:
        raise ExpressionError("json: the value is nested too deep") from None


def unmarshal(text: str) -> object:
    """json.Unmarshal into an interface: every number is a float64."""
    try:
        return json.loads(text, parse_int=float, parse_constant=_refuse_constant)
    except RecursionError:
        raise ExpressionError("json: exceeded max depth") from None
    except ValueError as error:
        raise ExpressionError(f"invalid JSON: {error}") from None


def parse_integer(text: str) -> int | None:
    """strconv.Atoi(text), None where it fails."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number == wrapped(number) else None


def parse_float(text: str) -> float | None:
    """strconv.ParseFloat(text, 64), None where it fails."""
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else None
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.replace("_", ""))
        except (OverflowError, ValueError):
            return None
    return None


def upper(text: str) -> str:
    """strings.ToUpper: one character becomes one character, so that a sharp s stays as it is."""
    return "".join(new if len(new := old.upper()) == 1 else old for old in text)


def lower(text: str) -> str:
    """strings.ToLower."""
    return "".join(new if len(new := old.lower()) == 1 else old for old in text)


def wrapped(number: int) -> int:
    """A 64-bit integer: what overflows starts again at the other end."""
    return (number + 2**63) % 2**64 - 2**63


def truncated(number: float) -> int:
    """int64(number) on amd64: what does not fit becomes the smallest integer."""
    return int(number) if math.isfinite(number) and -(2**63) <= number < 2**63 else -(2**63)


def truncated_unsigned(number: float) -> int:
    """uint64(number) on amd64."""
    return int(number) if 2**63 <= number < 2**64 else truncated(number) % 2**64


def divide(left: float, right: float) -> float:
    if right:
        return left / right
    if left and not math.isnan(left):
        return math.copysign(math.inf, left) * math.copysign(1, right)
    return math.nan


def remainder(left: float, right: float) -> float:
    """math.Mod(left, right)."""
    return math.fmod(left, right) if right and math.isfinite(left) else math.nan


def power(base: float, exponent: float) -> float:
    """math.Pow(base, exponent), to the last digit for whole exponents (math/pow.go), where C's pow rounds otherwise."""
    if not (base and math.isfinite(base) and exponent.is_integer() and abs(exponent) < 2**63):
        return _power_of_c(base, exponent)
    result, result_exponent = 1.0, 0
    factor, factor_exponent = math.frexp(base)
    bits = int(abs(exponent))
    while bits:
        if abs(factor_exponent) > 1 << 12:
            result_exponent += factor_exponent
            break
        if bits & 1:
            result, result_exponent = result * factor, result_exponent + factor_exponent
        factor, factor_exponent = factor * factor, factor_exponent << 1
        if factor < 0.5:
            factor, factor_exponent = factor + factor, factor_exponent - 1
        bits >>= 1
    if exponent < 0:
        result, result_exponent = 1 / result, -result_exponent
    try:
        return math.ldexp(result, result_exponent)
    except OverflowError:
        return math.copysign(math.inf, result)


def _power_of_c(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf
    except ValueError:
        if base:
            return math.nan
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


def _decimal(number: float) -> tuple[str, str, int]:
    """Sign, shortest digits and the position of the point among them; no digits where the number is not finite."""
    if math.isnan(number):
        return "NaN", "", 0
    sign = "-" if math.copysign(1, number) < 0 else ""
    if math.isinf(number):
        return "-Inf" if sign else "+Inf", "", 0
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return (sign, digits, point) if digits else (sign, "0", 1)


def _with_exponent(sign: str, digits: str, point: int, width: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    exponent = point - 1
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):0{width}}"


def _format_general(number: float) -> str:
    sign, digits, point = _decimal(number)
    if digits and not -4 < point <= 6:
        return _with_exponent(sign, digits, point, 2)
    return format_plain(number)


def _format_json(number: float) -> str:
    if not math.isfinite(number):
        raise ExpressionError(f"json: unsupported value: {format_plain(number)}")
    if number and not 1e-6 <= abs(number) < 1e21:
        return _with_exponent(*_decimal(number), 1)
    return format_plain(number)


def _quoted(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if code in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[code]
    if character.isprintable():
        return character
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _marshalled(value: object, indent: str, margin: str) -> str:
    match value:
        case None | bool():
            return _CONSTANTS[value]
        case int():
            return str(value)
        case float():
            return _format_json(value)
        case str():
            return encode_basestring(value).translate(_HTML)
        case list():
            items = [_marshalled(item, indent, margin + indent) for item in value]
            return _enclosed("[", items, "]", indent, margin)
        case dict():
            colon = ": " if indent else ":"
            items = [
                _marshalled(str(key), "", "") + colon + _marshalled(value[key], indent, margin + indent)
                for key in sorted(value, key=str)
            ]
            return _enclosed("{", items, "}", indent, margin)
    raise ExpressionError(f"json: unsupported type: {type(value).__name__}")


def _enclosed(opening: str, items: list[str], closing: str, indent: str, margin: str) -> str:
    if not items:
        return opening + closing
    if not indent:
        return opening + ",".join(items) + closing
    return opening + margin + indent + f",{margin}{indent}".join(items) + margin + closing


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
