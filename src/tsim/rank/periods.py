"""Periods of the calendar, relative to a moment: last week, two months ago, 3 May, summer.

Each function takes the match of a pattern in `when.py` and the moment, and returns the beginning of
a period and its end. Days begin at midnight in the time zone of the moment. A date without a year
is the last one that has begun. A date that does not exist raises ValueError.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

Period: TypeAlias = tuple[datetime, datetime]

DAY, WEEK = timedelta(days=1), timedelta(days=7)
UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": WEEK,
    "fortnight": 2 * WEEK,
    "month": timedelta(days=30.44),
    "year": timedelta(days=365.25),
}
NUMBERS = {
    **dict.fromkeys(["a", "an", "one"], 1.0),
    "half": 0.5,
    **{
        word: float(number)
        for number, word in enumerate(
            "two three four five six seven eight nine ten eleven twelve".split(), 2
        )
    },
    "fifteen": 15.0,
    "twenty": 20.0,
    "thirty": 30.0,
}
# Numbers that may be half as large, or half as large again.
VAGUE = {"couple": 2.0, "few": 3.0, "some": 3.0, "several": 4.0}
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()
# Years between two leap years, where a century's year is none.
LONGEST_WAIT = 8
# The first month of each season, in the north.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASON_MONTHS = 3
# Days of the year: month, day, number of days.
HOLIDAYS = {
    "valentine": (2, 14, 1),
    "halloween": (10, 31, 1),
    "christmas eve": (12, 24, 1),
    "christmas": (12, 24, 3),
    "new year": (12, 31, 2),
}


def date_of(match: re.Match[str], now: datetime) -> Period:
    """Returns a day, from its month (a name or a number), its day and perhaps its year."""
    month = match["month"]
    number = int(month) if month.isdigit() else MONTHS.index(month[:3].lower()) + 1
    begin = _last_begun(match["year"], number, int(match["day"]), now)
    return begin, begin + DAY


def month_of(match: re.Match[str], now: datetime) -> Period:
    """Returns a month, perhaps with its year; "last May" is not this month."""
    number = MONTHS.index(match["month"][:3].lower()) + 1
    begin = _last_begun(match["year"], number, 1, now)
    if (match["lead"] or "").lower() == "last" and (begin.year, number) == (now.year, now.month):
        begin = begin.replace(year=begin.year - 1)
    return begin, _months_on(begin, 1)


def year_of(match: re.Match[str], now: datetime) -> Period:
    """Returns a year."""
    begin = _midnight(now).replace(year=int(match["year"]), month=1, day=1)
    return begin, begin.replace(year=begin.year + 1)


def holiday(match: re.Match[str], now: datetime) -> Period:
    """Returns the last days of a name that have begun."""
    said = " ".join(match["holiday"].lower().split())
    month, day, count = next(when for name, when in HOLIDAYS.items() if said.startswith(name))
    begin = _last_begun(None, month, day, now)
    return begin, begin + count * DAY


def ago(match: re.Match[str], now: datetime) -> Period:
    """Returns the day, or the time as long as the unit, around so long ago."""
    count, vague = _count(match["count"])
    unit = _unit(match)
    if unit == DAY and not vague:
        begin = _midnight(now - count * DAY)
        return begin, begin + DAY
    around = (count / 2 if vague else 0.5) * unit
    return now - count * unit - around, now - count * unit + around


def trailing(match: re.Match[str], now: datetime) -> Period:
    """Returns the time up to now, as long as some units."""
    count, vague = _count(match["count"] or "one")
    return now - (1.5 if vague else 1.0) * count * _unit(match), now


def days_ago(count: int) -> Callable[[re.Match[str], datetime], Period]:
    """Returns a function that returns the day so many days ago."""

    def day(_: re.Match[str], now: datetime) -> Period:
        begin = _midnight(now) - count * DAY
        return begin, begin + DAY

    return day


def day_of_month(match: re.Match[str], now: datetime) -> Period:
    """Returns the last day with a number that has begun."""
    first = _midnight(now).replace(day=1)
    for back in range(3):  # two adjacent months without a 31st do not exist
        try:
            begin = _months_on(first, -back).replace(day=int(match["day"]))
        except ValueError:
            continue
        if begin <= now:
            return begin, begin + DAY
    raise ValueError(f"no month has a day {match['day']}")


def before_last(match: re.Match[str], now: datetime) -> Period:
    """Returns the week, weekend, month or year before the last one."""
    begin, _ = named(match, now)  # the group `which` is empty: the last one
    return named(match, begin)


def season_of(match: re.Match[str], now: datetime) -> Period:
    """Returns the season of a year; a winter is named after the year in which it begins."""
    first = _midnight(now).replace(
        year=int(match["year"]), month=SEASONS[match["season"].lower()], day=1
    )
    return first, _months_on(first, SEASON_MONTHS)


def weekday(match: re.Match[str], now: datetime) -> Period:
    """Returns the last such day before today; "this Friday" is the one of this week."""
    number = WEEKDAYS.index(match["weekday"][:3].lower())
    today = _midnight(now)
    if match["lead"].lower() == "this":
        begin = today + (number - today.weekday()) * DAY
    else:
        begin = today - ((today.weekday() - number - 1) % 7 + 1) * DAY
    return begin, begin + DAY


def named(match: re.Match[str], now: datetime) -> Period:
    """Returns a weekend, week, month, year or season: this one, or the one before."""
    span, back = match["span"].lower(), int(match["which"].lower() != "this")
    today = _midnight(now)
    monday = today - today.weekday() * DAY
    if span == "week":
        return monday - back * WEEK, monday + (1 - back) * WEEK
    if span == "weekend":
        saturday = monday + 5 * DAY - back * WEEK
        return saturday, saturday + 2 * DAY
    if span == "month":
        begin = _months_on(today.replace(day=1), -back)
        return begin, _months_on(begin, 1)
    first = today.replace(month=SEASONS.get(span, 1), day=1)
    length = SEASON_MONTHS if span in SEASONS else 12
    while first > now or (back and _months_on(first, length) > now):
        first = first.replace(year=first.year - 1)
    return first, _months_on(first, length)


def _count(text: str) -> tuple[float, bool]:
    """Returns a number, and whether it is vague."""
    words = [word for word in text.lower().split() if word != "of"]
    for word in words:
        if word in VAGUE:
            return VAGUE[word], True
    word = "half" if "half" in words else words[-1]
    return (float(word) if word.isdigit() else NUMBERS[word]), False


def _unit(match: re.Match[str]) -> timedelta:
    return UNITS[match["unit"].lower().rstrip("s")]


def _last_begun(year: str | None, month: int, day: int, now: datetime) -> datetime:
    """Returns a day of a year, or of the last year in which it has begun."""
    today = _midnight(now)
    if year:
        return today.replace(year=int(year), month=month, day=day)
    for back in range(LONGEST_WAIT + 1):
        try:
            begin = today.replace(year=today.year - back, month=month, day=day)
        except ValueError:  # no such day in this year
            continue
        if begin <= now:
            return begin
    raise ValueError(f"there is no day {day} in month {month}")


def _months_on(begin: datetime, count: int) -> datetime:
    """Returns the first of a month, some months later."""
    months = begin.year * 12 + begin.month - 1 + count
    return begin.replace(year=months // 12, month=months % 12 + 1)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
