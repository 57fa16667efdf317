"""When a question is about: expressions of time in English, as stretches of time.

    "what did I say last week"     the week before this one
    "what did I buy in March?"     the last March that has begun
    "since 3 May 2024", "two months ago", "between June and August", "recently", "the first time"

The patterns prefer to find nothing over finding what was not meant: a month needs a preposition, a
day or a year, because "may" and "march" are also verbs, and numeric dates other than year-month-day
are ambiguous.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.rank import periods
from tsim.rank.periods import Period

Times: TypeAlias = npt.NDArray[np.float64]

DAY = 86_400.0
# What lies outside a period by half its length is preferred 1/e as much as what lies inside:
# people round, and tell about things afterwards.
SOFTNESS, LEAST_FADE = 0.5, DAY / 2
# The same for stretches that are open on one side, and for what is recent or earliest.
OPEN_FADE, END_FADE = 7 * DAY, 30 * DAY
# "Recently" and "originally" say less about time than a date does.
END_WEIGHT = 0.5


class Kind(StrEnum):
    """How a question is related to a period."""

    INSIDE = "inside"
    BEFORE = "before"
    AFTER = "after"
    RECENT = "recent"
    EARLIEST = "earliest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of time that a question seems to be about.

    Attributes:
        kind: How it is expressed.
        text: The expression.
        begin: Its beginning, in seconds since the epoch.
        end: Its end.
        fade: The seconds outside of it over which the preference for it falls to 1/e.
        weight: The preference inside, from 0 to 1.
    """

    kind: Kind
    text: str
    begin: float
    end: float
    fade: float
    weight: float = 1.0


BEFORE = {"before", "until", "till", "by"}
AFTER = {"since", "after"}
JOINING = {"and", "to", "until", "till"}
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![\w'’])\.?"
)
_WEEKDAY = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?![\w'’])"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?![\d-])"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?![\d%:.])"
_VAGUE = r"(?:a\s+)?(?:couple(?:\s+of)?|few|several|some)"
_COUNT = (
    rf"(?P<count>\d{{1,3}}|half\s+an?|{'|'.join(periods.NUMBERS)}|{_VAGUE})\s+"
    r"(?P<unit>minute|hour|day|week|fortnight|month|year)s?"
)
_HOLIDAY = r"(?P<holiday>valentine['’]?s|halloween|christmas(?:\s+eve)?|new\s+year['’]s)\b"
_WHICH = r"(?P<which>last|this|previous|past)"
_SPAN = r"(?P<span>weekend|week|month|year|spring|summer|autumn|fall|winter)\b(?!\s+of)"
_LEAD = (
    r"(?P<lead>before|until|till|by|since|after|from|between|and|to|in|on|of|during|last|this"
    r"|early|late|mid)[\s-]+(?:the\s+)?"
)

Read: TypeAlias = Callable[[re.Match[str], datetime], Period]
# Periods that are clear without a word before them, and those that need one. Where two overlap in a
# text, the first of them counts.
CLEAR: tuple[tuple[str, Read], ...] = (
    (r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)\b", periods.date_of),
    (rf"{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+{_YEAR})?", periods.date_of),
    (rf"{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?", periods.date_of),
    (rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}", periods.month_of),
    (rf"{_COUNT}\s+(?:ago|back)\b", periods.ago),
    (rf"(?:past|last|previous)\s+{_COUNT}\b", periods.trailing),
    (r"past\s+(?P<count>)(?P<unit>minute|hour|day|week|fortnight|month|year)\b", periods.trailing),
    (r"last\s+(?P<count>)(?P<unit>minute|hour|day|fortnight)\b", periods.trailing),
    (r"(?P<span>weekend|week|month|year)\s+before\s+last\b(?P<which>)", periods.before_last),
    (rf"(?P<season>spring|summer|autumn|fall|winter)\s+(?:of\s+)?{_YEAR}", periods.season_of),
    (r"day\s+before\s+yesterday\b", periods.days_ago(2)),
    (r"(?:yesterday|last\s+night)\b", periods.days_ago(1)),
    (r"(?:today|tonight|this\s+(?:morning|evening))\b", periods.days_ago(0)),
    (rf"{_WHICH}\s+{_SPAN}", periods.named),
    (_HOLIDAY, periods.holiday),
)
UNCLEAR: tuple[tuple[str, Read], ...] = (
    (rf"{_MONTH}(?P<year>)", periods.month_of),
    (_YEAR, periods.year_of),
    (_WEEKDAY, periods.weekday),
    (r"(?<=the\s)(?P<day>[0-3]?\d)(?:st|nd|rd|th)\b(?!\s+(?:of\b|[a-z]))", periods.day_of_month),
)
PATTERNS: tuple[tuple[re.Pattern[str], Read, bool], ...] = tuple(
    (re.compile(rf"\b{lead}{period}", re.IGNORECASE), read, clear)
    for lead, some, clear in ((rf"(?:{_LEAD})?", CLEAR, True), (_LEAD, UNCLEAR, False))
    for period, read in some
)
# The letters that patterns take for ASCII ones when case is ignored, which no table of words has.
PLAIN = str.maketrans("\u017f\u212a\u0130\u0131", "skii")
RECENT = re.compile(
    r"\b(?:recent|recently|lately|latest|newest|last\s+time|current|currently|these\s+days"
    r"|nowadays|at\s+the\s+moment|right\s+now|so\s+far)\b",
    re.IGNORECASE,
)
EARLIEST = re.compile(
    r"\b(?:the\s+first\s+time|original|originally|initial|initially|at\s+first|earliest)\b",
    re.IGNORECASE,
)


def stretches(text: str, *, now: datetime, first: float, last: float) -> list[Stretch]:
    """Finds the stretches of time that a question is about, in the order of their expressions.

    Args:
        text: The question.
        now: When it is asked. Days and weeks are those of its time zone.
        first: When the earliest turn was said, in seconds since the epoch.
        last: The same for the latest turn: what is recent is so relative to it, if it is earlier
            than `now`.
    """
    found = [_stretch(one) for one in _joined(text, _named(text, now))]
    recent, earliest = RECENT.search(text), EARLIEST.search(text)
    if found or (recent and earliest):
        return found
    if recent:
        return [_point(Kind.RECENT, recent[0], min(last, now.timestamp()))]
    return [_point(Kind.EARLIEST, earliest[0], first)] if earliest else []


def preference(found: Sequence[Stretch], times: Times) -> Times:
    """Returns how much each time is preferred: at most 1 in all stretches, fading to 0 outside.

    Unknown times (NaN) are never preferred.
    """
    total = np.zeros(len(times))
    for one in found:
        outside = np.maximum(np.maximum(one.begin - times, times - one.end), 0.0)
        total += one.weight * np.exp(-outside / one.fade)
    return np.nan_to_num(total / max(1, len(found)))


@dataclass(frozen=True, slots=True)
class _Named:
    """A period that is named in a text, the word before it, and whether it is clear without."""

    start: int
    stop: int
    text: str
    lead: str
    clear: bool
    period: Period


def _named(text: str, now: datetime) -> list[_Named]:
    plain = text.translate(PLAIN)
    found: list[_Named] = []
    taken: list[tuple[int, int]] = []  # what was found, in order: none overlaps another
    for pattern, read, clear in PATTERNS:
        for match in pattern.finditer(plain):
            start, stop = match.span()
            place = bisect_left(taken, (stop,))
            if place and taken[place - 1][1] > start:
                continue
            try:
                period = read(match, now)
            except (ValueError, OverflowError):  # no such day, or beyond the years 1 to 9999
                continue
            said, lead = " ".join(text[start:stop].split()), (match["lead"] or "").lower()
            found.append(_Named(start, stop, said, lead, clear, period))
            taken.insert(place, (start, stop))
    return sorted(found, key=lambda one: one.start)


def _joined(text: str, found: Sequence[_Named]) -> list[_Named]:
    """Joins the periods of "between … and …", "from … to …" or "in … and …"."""
    out: list[_Named] = []
    for one in found:
        last = out[-1] if out else None
        if last and one.lead in JOINING and not text[last.stop : one.start].strip():
            both = (min(last.period[0], one.period[0]), max(last.period[1], one.period[1]))
            out[-1] = _Named(last.start, one.stop, f"{last.text} {one.text}", "between", True, both)
        elif one.clear or one.lead not in JOINING - BEFORE:
            out.append(one)
    return out


def _stretch(one: _Named) -> Stretch:
    begin, end = (edge.timestamp() for edge in one.period)
    if one.lead in BEFORE:
        return Stretch(kind=Kind.BEFORE, text=one.text, begin=-math.inf, end=begin, fade=OPEN_FADE)
    if one.lead in AFTER:
        return Stretch(kind=Kind.AFTER, text=one.text, begin=begin, end=math.inf, fade=OPEN_FADE)
    fade = max(SOFTNESS * (end - begin), LEAST_FADE)
    return Stretch(kind=Kind.INSIDE, text=one.text, begin=begin, end=end, fade=fade)


def _point(kind: Kind, text: str, at: float) -> Stretch:
    said = " ".join(text.split())
    return Stretch(kind=kind, text=said, begin=at, end=at, fade=END_FADE, weight=END_WEIGHT)
