"""When documents are from: periods of a length that suits them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Period = Literal["day", "week", "month", "quarter", "year"]

_PERIODS: tuple[Period, ...] = ("day", "week", "month", "quarter", "year")
_MOST = 36  # periods; more make a shorter line of longer ones


@dataclass(frozen=True, slots=True)
class Timeline:
    """Periods without a gap, and which of them each document is of."""

    period: Period
    starts: tuple[date, ...]
    places: tuple[int | None, ...]  # of each document; None: it has no date

    def counts(self, members: Sequence[int]) -> tuple[int, ...]:
        """How many of these documents each period has."""
        found = [0] * len(self.starts)
        for at in members:
            place = self.places[at]
            if place is not None:
                found[place] += 1
        return tuple(found)


def timeline(moments: Sequence[str | None]) -> Timeline | None:
    """None where the documents are of one period or have no dates.

    Args:
        moments: of each document, ISO 8601; None: unknown
    """
    days = [None if moment is None else date.fromisoformat(moment[:10]) for moment in moments]
    known = [day for day in days if day is not None]
    if not known:
        return None
    for period in _PERIODS:
        starts = _from(min(known), max(known), period)
        if len(starts) <= _MOST or period == "year":
            break
    if len(starts) < 2:
        return None
    index = {start: at for at, start in enumerate(starts)}
    places = tuple(None if day is None else index[_start(day, period)] for day in days)
    return Timeline(period, tuple(starts), places)


def _from(first: date, last: date, period: Period) -> list[date]:
    starts = [_start(first, period)]
    while (following := _next(starts[-1], period)) <= last:
        starts.append(following)
        if len(starts) > _MOST and period != "year":
            break
    return starts


def _start(day: date, period: Period) -> date:
    match period:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)


def _next(start: date, period: Period) -> date:
    match period:
        case "day":
            return start + timedelta(days=1)
        case "week":
            return start + timedelta(days=7)
        case "month":
            return _start(start + timedelta(days=31), "month")
        case "quarter":
            return _start(start + timedelta(days=93), "quarter")
        case "year":
            return start.replace(year=start.year + 1)
