"""Spans of days as people name them: "last month", 지난달, "since March", "April 2025", 2023년.

A year alone, or a month without its year, is read as the last one that has begun.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(_NUMBERS)})"
_MONTH = rf"(?:{'|'.join(m for m in _MONTHS if m != 'may')}|(?<=\w )(?-i:May))"  # not "may"

ENGLISH = (  # to be put into a pattern that ignores case
    r"(?:yesterday|today|(?:last|past|previous|this|the current) (?:week|month|quarter|year)"
    rf"|(?:the )?(?:last|past) {_NUMBER} (?:days|weeks|months|years)"
    rf"|\d{{1,2}} {_MONTH} (?:19|20)\d\d|{_MONTH} \d{{1,2}},? (?:19|20)\d\d"
    rf"|{_MONTH}(?: (?:19|20)\d\d)?\b|(?:19|20)\d\d(?:-\d{{1,2}}){{0,2}}(?![\w-]))"
)
KOREAN = (
    r"(?:오늘|어제|그저께|(?:지난|저번|이번|금)\s?(?:주|달|분기|해)|전월|당월|작년|올해|금년|재작년"
    r"|최근\s?\d{1,3}\s?(?:일|주일?|개월|달|년)(?:간|\s?동안)?"
    r"|(?:19|20)\d\d년(?:\s?\d{1,2}월(?:\s?\d{1,2}일)?)?|\d{1,2}월(?:\s?\d{1,2}일)?"
    r"|(?:19|20)\d\d[-.]\d{1,2}(?:[-.]\d{1,2})?\.?)"
)

_DAY = timedelta(days=1)
_UNITS = {"일": "day", "주": "week", "개월": "month", "달": "month", "년": "year", "해": "year"}
_WORDS = {  # unit, and how many of it back
    "오늘": ("day", 0), "어제": ("day", 1), "그저께": ("day", 2), "전월": ("month", 1),
    "당월": ("month", 0), "작년": ("year", 1), "올해": ("year", 0), "금년": ("year", 0),
    "재작년": ("year", 2), "today": ("day", 0), "yesterday": ("day", 1),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Period:
    """Days from the first to the last, both of which belong to it."""

    first: date
    last: date

    def overlaps(self, other: "Period") -> bool:
        return self.first <= other.last and other.first <= self.last

    def __str__(self) -> str:
        """2025, 2025-04, 2025-04-12 or both days; what is open has no day there."""
        if self == _year(self.first.year):
            return f"{self.first:%Y}"
        if self == _month(self.first.year, self.first.month):
            return f"{self.first:%Y-%m}"
        days = [self.first] if self.first == self.last else [self.first, self.last]
        shown = ("" if day in (date.min, date.max) else day.isoformat() for day in days)
        return " – ".join(shown).strip()

    def onwards(self) -> "Period":
        return Period(self.first, date.max)

    def after(self) -> "Period":
        return Period(min(self.last, date.max - _DAY) + _DAY, date.max)

    def before(self) -> "Period":
        return Period(date.min, max(self.first, date.min + _DAY) - _DAY)

    def up_to(self) -> "Period":
        return Period(date.min, self.last)


def period_of(words: str, today: date) -> Period | None:
    """The days that words name which `ENGLISH` or `KOREAN` matched; None for no such days."""
    words = " ".join(words.lower().split())
    if words in _WORDS:
        unit, back = _WORDS[words]
        return _whole(unit, back, today)
    return _counted(words, today) or _relative(words, today) or _absolute(words, today)


def _counted(words: str, today: date) -> Period | None:
    """The last 10 days, 최근 3개월: up to today."""
    found = re.fullmatch(rf"(?:the )?(?:last|past) ({_NUMBER}) (day|week|month|year)s", words)
    if found:
        n, unit = _NUMBERS.get(found[1]) or int(found[1]), found[2]
    elif found := re.match(r"최근\s?(\d{1,3})\s?(일|주|개월|달|년)", words):
        n, unit = int(found[1]), _UNITS[found[2]]
    else:
        return None
    match unit:
        case "day":
            return Period(today - timedelta(days=n), today)
        case "week":
            return Period(today - timedelta(weeks=n), today)
    year, month = _months_back(today, n * (12 if unit == "year" else 1))
    return Period(date(year, month, min(today.day, monthrange(year, month)[1])), today)


def _relative(words: str, today: date) -> Period | None:
    found = re.fullmatch(
        r"(last|past|previous|this|the current) (week|month|quarter|year)", words
    ) or re.fullmatch(r"(지난|저번|이번|금)\s?(주|달|분기|해)", words)
    if not found:
        return None
    unit = {"분기": "quarter", **_UNITS}.get(found[2], found[2])
    return _whole(unit, 0 if found[1] in ("this", "the current", "이번", "금") else 1, today)


def _whole(unit: str, back: int, today: date) -> Period:
    """The day, week (from Monday), month, quarter or year that lies so many of them back."""
    match unit:
        case "day":
            day = today - back * _DAY
            return Period(day, day)
        case "week":
            monday = today - timedelta(days=today.weekday(), weeks=back)
            return Period(monday, monday + 6 * _DAY)
        case "month":
            return _month(*_months_back(today, back))
        case "quarter":
            year, month = _months_back(today, (today.month - 1) % 3 + 3 * back)
            return Period(date(year, month, 1), _month(year, month + 2).last)
        case _:
            return _year(today.year - back)


def _absolute(words: str, today: date) -> Period | None:
    numbers = [int(n) for n in re.findall(r"\d+", words)]
    names = [_MONTHS.index(w) + 1 for w in re.findall(r"[a-z]+", words) if w in _MONTHS]
    years = [n for n in numbers if n >= 1900]
    small = [n for n in numbers if n < 1900]
    month = names[0] if names else (small.pop(0) if small else None)
    day = small[0] if small else None
    if month is None:
        return _year(years[0]) if years else None
    if not 1 <= month <= 12:
        return None
    year = years[0] if years else today.year - (month > today.month)
    if day is None:
        return _month(year, month)
    if not 1 <= day <= monthrange(year, month)[1]:
        return None
    return Period(date(year, month, day), date(year, month, day))


def _months_back(today: date, n: int) -> tuple[int, int]:
    whole = max(12, today.year * 12 + today.month - 1 - n)
    return whole // 12, whole % 12 + 1


def _month(year: int, month: int) -> Period:
    return Period(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def _year(year: int) -> Period:
    return Period(date(year, 1, 1), date(year, 12, 31))
