"""Numbers of a spreadsheet as the sheet shows them; dates and times as ISO 8601 writes them."""

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

# The formats that a file names by number only; ECMA-376, part 1, 18.8.30 (dates as in Korea).
BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
    11: "0.00E+00", 20: "h:mm", 21: "h:mm:ss", 32: "h:mm", 33: "h:mm:ss", 37: "#,##0;-#,##0",
    38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00", 41: "#,##0",
    42: "#,##0", 43: "#,##0.00", 44: "#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss",
    22: "yyyy-mm-dd h:mm", 18: "h:mm", 19: "h:mm:ss",
    **dict.fromkeys((14, 15, 16, *range(27, 32), *range(34, 37), *range(50, 59)), "yyyy-mm-dd"),
    17: "yyyy-mm",
}  # fmt: skip
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<condition>[<>=][^\]]*)\]|\[[^\]]*\]"
    r"|(?P<general>general|@)|(?P<clock>am/pm|a/p)|(?P<power>e[+-]0+)|(?P<fraction>[?#0]*/[?#0\d]+)"
    r"|(?P<digits>[#0?][#0?,.]*|\.[#0?]+)|(?P<percent>%)|(?P<date>[ymdhsb]+|a{3,4}|g+|e+)"
    r"|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_LAST_DAY = 2_958_466  # the day after 31 December 9999
_SIGNIFICANT = 10  # digits that a cell without a format shows


@dataclass(frozen=True, slots=True)
class _Section:
    """One of up to four parts of a format: for positive and negative numbers, zero and text."""

    parts: tuple[tuple[str, str], ...]  # kind and text of each token

    def texts(self, kind: str) -> list[str]:
        return [text for name, text in self.parts if name == kind]


def shown(value: float, code: str, *, from_1904: bool = False) -> str:
    """Gives a number as its format shows it, and without noise of floating point where it has none.

    `from_1904` counts days from 1904, as old workbooks from Macs do.
    """
    sections = _sections(code)
    first = sections[0]
    if first.texts("date") or first.texts("elapsed") or first.texts("clock"):
        return _moment(value, first, from_1904) or general(value)
    if any(section.texts("condition") for section in sections) or not math.isfinite(value):
        return general(value)
    section = first
    if value < 0 and len(sections) > 1:
        section, value = sections[1], -value
    elif value == 0 and len(sections) > 2:
        section = sections[2]
    return _number(value, section).strip() or general(value)


@lru_cache(maxsize=1024)
def _sections(code: str) -> tuple[_Section, ...]:
    sections: list[list[tuple[str, str]]] = [[]]
    for token in _TOKEN.finditer(code[:255]):
        kind = token.lastgroup
        if kind == "literal" and token[0] == ";":
            sections.append([])
        elif kind in ("quoted", "escaped", "currency", "literal"):
            sections[-1].append(("literal", token[kind]))
        elif kind is not None:
            sections[-1].append((kind, token[kind].lower()))
    return tuple(_Section(tuple(parts)) for parts in sections)


def _number(value: float, section: _Section) -> str:
    if section.texts("general") or section.texts("fraction"):
        return "".join(
            general(value) if kind in ("general", "fraction") else text
            for kind, text in section.parts
            if kind in ("general", "fraction", "literal")
        )
    digits = section.texts("digits")
    value *= 100 ** len(section.texts("percent"))
    if section.texts("power"):
        written = [f"{value:.{len(digits[0].partition('.')[2])}E}"] if digits else []
    elif len(digits) > 1 and not any("." in run for run in digits):
        written = _in_groups(value, digits)
    else:
        written = [_decimal(value, run) for run in digits[:1]]
    runs = iter(written)
    text = ""
    for kind, part in section.parts:
        if kind == "digits":
            text += next(runs, "")
        elif kind in ("literal", "percent"):
            text += part
    return text


def _decimal(value: float, pattern: str) -> str:
    """Rounds as a spreadsheet does: halves away from zero, of the number as it is written."""
    scaled = pattern.rstrip(",")
    whole, _, places = scaled.partition(".")
    number = Decimal(repr(value)).scaleb(-3 * (len(pattern) - len(scaled)))
    number = number.quantize(Decimal(1).scaleb(-len(places)), ROUND_HALF_UP)
    comma = "," if "," in whole else ""
    text = f"{number or abs(number):{comma}f}"
    optional = len(places) - len(places.rstrip("#?"))
    for _ in range(optional):
        text = text.removesuffix("0")
    head, dot, tail = text.removesuffix(".").partition(".")
    return head.zfill(whole.count("0")) + dot + tail if not comma else text.removesuffix(".")


def _in_groups(value: float, patterns: list[str]) -> list[str]:
    """Deals the digits out from the right, as `000-0000-0000` does for a telephone number."""
    left = str(round(abs(value))).zfill(sum(pattern.count("0") for pattern in patterns))
    groups = []
    for pattern in reversed(patterns[1:]):
        groups.append(left[-len(pattern) :])
        left = left[: -len(pattern)]
    return [("-" if value < 0 else "") + left, *reversed(groups)]


def general(value: float) -> str:
    """Gives a number without a format, as short as it can be without noise of floating point."""
    if not math.isfinite(value) or abs(value) >= 1e15:
        return f"{value:.15g}"
    if value == int(value):
        return str(int(value))
    before = math.floor(math.log10(abs(value))) + 1
    if before < -_SIGNIFICANT:
        return f"{value:.{_SIGNIFICANT}g}"
    return f"{value:.{max(2, _SIGNIFICANT - before)}f}".rstrip("0").rstrip(".")


def _moment(value: float, section: _Section, from_1904: bool) -> str | None:
    """Gives the parts of a date and time that the format shows; None for what is no date."""
    if not 0 <= value < _LAST_DAY:
        return None
    seconds = round(value * 86_400)
    if section.texts("elapsed"):
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}{_seconds(seconds)}"
    letters = set("".join(section.texts("date")))
    has_time = bool(letters & set("hs")) or bool(section.texts("clock"))
    has_date = bool(letters & set("ydage")) or not has_time
    clock = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}{_seconds(seconds)}"
    if not has_date:
        return clock
    try:
        day = _day(seconds // 86_400, from_1904)
    except OverflowError:
        return None
    if not letters & set("da"):  # the m beside an h is a minute
        return f"{day:%Y-%m}" if "m" in letters else f"{day.year}"
    return f"{day:%Y-%m-%d} {clock}" if has_time else f"{day:%Y-%m-%d}"


def _day(days: int, from_1904: bool) -> datetime:
    if from_1904:
        return datetime(1904, 1, 1) + timedelta(days)
    # Spreadsheets count a 29 February 1900, which never was.
    return datetime(1899, 12, 30) + timedelta(days + (days < 60))


def _seconds(seconds: int) -> str:
    return f":{seconds % 60:02d}" if seconds % 60 else ""
