"""Texts of others on a page: cut to a length, without anything that acts on its surroundings.

Templates escape what means something in HTML. What turns the direction of writing, or cannot be
seen, is written as an escape.
"""

import math
import re
from collections.abc import Set
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby

from tsim.characters import visible, whole
from tsim.excerpt import excerpt
from tsim.types import Turn
from tsim.words import terms

# Characters of a turn in a listing, and of a page that shows a turn alone.
MOST, PAGE = 1_200, 100_000
LINE = 110
WORD = re.compile(r"(\w+)")


def cut(text: str, most: int = MOST) -> str:
    """Returns the beginning of a text as it is shown."""
    return visible(text if len(text) <= most else text[: whole(text, most)])


def line(text: str, most: int = LINE) -> str:
    """Returns the beginning of a text on one line."""
    return visible(excerpt(text, most))


def marked(text: str, words: Set[str]) -> list[tuple[str, bool]]:
    """Returns the parts of a text, each with whether it is one of some terms."""
    if not words:
        return [(text, False)]
    parts = ((part, not words.isdisjoint(_terms(part))) for part in WORD.split(text) if part)
    grouped = groupby(parts, lambda pair: pair[1])
    return [("".join(part for part, _ in some), found) for found, some in grouped]


def passages(turn: Turn, most: int = MOST) -> list[tuple[str, bool]]:
    """Returns the parts of a turn that a hit shows, each with whether something is before it."""
    if turn.shown is None:
        return [(cut(turn.text, most), False)]
    return [(cut(turn.text[first:last], most), first > 0) for first, last in turn.shown]


def left_out(turn: Turn, most: int = MOST) -> int:
    """Returns how many characters of a turn `passages` does not show."""
    ranges = turn.shown or ((0, len(turn.text)),)
    return len(turn.text) - sum(min(last - first, most) for first, last in ranges)


def moment(at: float | None, form: str = "%Y-%m-%d %H:%M") -> str:
    """Returns a time in UTC; empty if it is not known."""
    if at is None or not math.isfinite(at):
        return ""
    try:
        return f"{datetime.fromtimestamp(at, UTC):{form}}"
    except (OverflowError, OSError, ValueError):
        return ""


def period(since: float | None, until: float | None) -> str:
    """Returns a range of days in UTC; empty if it is not known."""
    first, last = moment(since, "%Y-%m-%d"), moment(until, "%Y-%m-%d")
    if not (first and last):
        return f"from {first}" if first else last and f"until {last}"
    return first if first == last else f"{first} – {last}"


@lru_cache(maxsize=4096)
def _terms(word: str) -> frozenset[str]:
    return frozenset(terms(word))


def number(value: int) -> str:
    """Returns a whole number with separators."""
    return f"{value:,}"


def plural(word: str, count: int) -> str:
    """Returns a word for one or for several."""
    return word if count == 1 else f"{word}s"


def percent(value: float | None) -> str:
    """Returns a probability; those that are nearly 0 or 1 are not rounded to it."""
    if value is None:
        return "–"
    if 0 < value < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < value < 1 else f"{value:.0%}".replace("%", " %")
