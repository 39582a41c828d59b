"""Go's time layouts ("2006-01-02 15:04"): writing a moment, and reading one back as Unix seconds. Local time is UTC."""

import re
import time
from collections.abc import Callable
from functools import lru_cache

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_ELEMENT = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|002|01|02|03|04|05|06|15|__2|_2(?!006)|PM|pm"
    r"|[-Z](?:07:00:00|070000|07:00|0700|07)|[.,](?:0+|9+)(?![0-9])|1|2|3|4|5",
)
_NAMES = {"January": MONTHS, "Jan": [name[:3] for name in MONTHS], "Monday": WEEKDAYS, "Mon": [n[:3] for n in WEEKDAYS]}
_FIELDS = {
    "2006": r"(?P<year>\d{4})", "06": r"(?P<short_year>\d\d)", "01": r"(?P<month>\d\d)", "1": r"(?P<month>\d\d?)",
    "02": r"(?P<day>\d\d)", "2": r"(?P<day>\d\d?)", "_2": r"\ ?(?P<day>\d\d?)", "15": r"(?P<hour>\d\d?)",
    "03": r"(?P<half>\d\d)", "3": r"(?P<half>\d\d?)", "04": r"(?P<minute>\d\d)", "4": r"(?P<minute>\d\d?)",
    "05": r"(?P<second>\d\d)(?:[.,]\d+)?", "5": r"(?P<second>\d\d?)(?:[.,]\d+)?", "PM": "(?P<noon>AM|PM)",
    "pm": "(?P<noon>am|pm)", "MST": r"(?:UTC|ChST|MeST|WITA|[A-Z]{2,4}T|[A-Z]{3}|[+-]\d\d)(?![A-Z])",
}  # fmt: skip
_ZONE = r"(?P<sign>[+-])(?P<zone_hour>\d\d)"
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def write(layout: str, unix: float) -> str:
    """time.Unix(unix, 0).UTC().Format(layout)."""
    moment = time.gmtime(unix)
    return _ELEMENT.sub(lambda match: _written(match[0], moment), layout)


def read(layout: str, text: str) -> int | None:
    """time.Parse(layout, text).Unix(), None where the text has another form or names no moment."""
    match = _pattern(layout).fullmatch(text)
    return _unix(match.groupdict()) if match else None


def _written(element: str, moment: time.struct_time) -> str:
    hour = moment.tm_hour % 12 or 12
    writers: dict[str, Callable[[], str]] = {
        "January": lambda: MONTHS[moment.tm_mon - 1],
        "Jan": lambda: MONTHS[moment.tm_mon - 1][:3],
        "Monday": lambda: WEEKDAYS[moment.tm_wday],
        "Mon": lambda: WEEKDAYS[moment.tm_wday][:3],
        "MST": lambda: "UTC",
        "2006": lambda: f"{moment.tm_year:04}",
        "06": lambda: f"{moment.tm_year % 100:02}",
        "01": lambda: f"{moment.tm_mon:02}",
        "1": lambda: f"{moment.tm_mon}",
        "02": lambda: f"{moment.tm_mday:02}",
        "_2": lambda: f"{moment.tm_mday:2}",
        "2": lambda: f"{moment.tm_mday}",
        "002": lambda: f"{moment.tm_yday:03}",
        "__2": lambda: f"{moment.tm_yday:3}",
        "15": lambda: f"{moment.tm_hour:02}",
        "03": lambda: f"{hour:02}",
        "3": lambda: f"{hour}",
        "04": lambda: f"{moment.tm_min:02}",
        "4": lambda: f"{moment.tm_min}",
        "05": lambda: f"{moment.tm_sec:02}",
        "5": lambda: f"{moment.tm_sec}",
        "PM": lambda: "PM" if moment.tm_hour >= 12 else "AM",
        "pm": lambda: "pm" if moment.tm_hour >= 12 else "am",
    }
    if element in writers:
        return writers[element]()
    if element[0] == "Z":
        return "Z"
    if element[0] == "-":
        return "+" + element[1:].replace("7", "0")
    return "" if "9" in element else element


@lru_cache(maxsize=64)
def _pattern(layout: str) -> re.Pattern[str]:
    pieces: list[str] = []
    end = 0
    for match in _ELEMENT.finditer(layout):
        pieces += [_literal(layout[end : match.start()]), _field(match[0])]
        end = match.end()
    return re.compile("".join([*pieces, _literal(layout[end:])]), re.ASCII)


def _literal(text: str) -> str:
    return re.sub(r"(?:\\ )+", " +", re.escape(text))


def _field(element: str) -> str:
    if element in _NAMES:
        kind = "month_name" if element.startswith("Jan") else "weekday"
        return f"(?P<{kind}>(?i:{'|'.join(_NAMES[element])}))"
    if element in _FIELDS:
        return _FIELDS[element]
    if element[0] in ".,":
        return r"(?:[.,]\d+)?" if "9" in element else rf"[.,]\d{{{len(element) - 1}}}"
    colon = ":" if ":" in element else ""
    minutes = rf"{colon}(?P<zone_minute>\d\d)" if len(element) > 3 else ""
    return rf"(?:Z|{_ZONE}{minutes})" if element[0] == "Z" else _ZONE + minutes


def _unix(fields: dict[str, str | None]) -> int | None:
    def value(name: str, default: int = 0) -> int:
        return int(fields.get(name) or default)

    month, day = value("month", 1), value("day", 1)
    if name := fields.get("month_name"):
        month = [known[:3].lower() for known in MONTHS].index(name[:3].lower()) + 1
    hour, noon = value("hour"), fields.get("noon")
    if fields.get("half"):
        hour = value("half")
        if hour > 12:
            return None
        hour = hour % 12 + 12 * (noon in ("PM", "pm")) if noon else hour
    year = value("year")
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + (is_leap and month == 2)):
        return None
    if (
        hour > 23
        or value("minute") > 59
        or value("second") > 59
        or value("zone_hour") > 24
        or value("zone_minute") > 59
    ):
        return None
    offset = 3600 * value("zone_hour") + 60 * value("zone_minute")
    seconds = 3600 * hour + 60 * value("minute") + value("second")
    return 86400 * _days(year, month, day) + seconds + (offset if fields.get("sign") == "-" else -offset)


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, counting years from March."""
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 146097 * era + 365 * year_of_era + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468
