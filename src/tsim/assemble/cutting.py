"""Cuts a turn that is too long for a budget, around what was asked."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from tsim.characters import whole
from tsim.types import Turn

# Characters shown at first; doubled as long as they fit.
SMALLEST = 32
# How far from a cut its place may be moved to a space.
NEAR_SPACE = 24
# Share of what is shown that comes before the centre.
BEFORE = 0.4
# Characters around a match that should be shown together, and how many matches are compared.
REACH, MATCHES = 600, 5000
SPACE = re.compile(r"\s")


def cut(turn: Turn, terms: Sequence[str], fits: Callable[[Turn], bool]) -> Turn | None:
    """Shows as much of a turn as fits, around the place that has most of some terms.

    Args:
        turn: A turn that does not fit. Parts of it that are not shown stay so.
        terms: What was asked for, in lower case.
        fits: Returns whether a turn, some of whose text is left out, fits.

    Returns:
        The turn with less of it shown, or None if not even a character fits.
    """
    text = turn.text
    within = turn.shown or ((0, len(text)),)
    centre = _centre(text, within, terms)

    def shown(length: int) -> Turn:
        first = min(max(0, centre - int(BEFORE * length)), max(0, len(text) - length))
        low, high = _snapped(text, first), _snapped(text, first + length)
        parts = ((max(low, start), min(high, end)) for start, end in within)
        return replace(turn, shown=tuple(part for part in parts if part[0] < part[1]))

    best, low, high = None, 0, SMALLEST
    while high < len(text) and (larger := shown(high)).shown and fits(larger):
        best, low, high = larger, high, 2 * high
    high = min(high, len(text))
    while high - low > 1:
        middle = (low + high) // 2
        tried = shown(middle)
        if tried.shown and fits(tried):
            best, low = tried, middle
        else:
            high = middle
    return best


def _centre(text: str, within: Sequence[tuple[int, int]], terms: Sequence[str]) -> int:
    """Returns the place around which the terms are most frequent, rare ones counting more."""
    start = within[0][0]
    if not terms:
        return start
    pattern = re.compile("|".join(re.escape(term) for term in terms), re.IGNORECASE)
    found = [
        (match.start(), match.group().lower())
        for first, last in within
        for _, match in zip(range(MATCHES), pattern.finditer(text, first, last), strict=False)
    ]
    often = Counter(term for _, term in found)
    best, centre, low, weight = 0.0, start, 0, 0.0
    for high, (place, term) in enumerate(found):
        weight += 1 / often[term]
        while place - found[low][0] > REACH:
            weight -= 1 / often[found[low][1]]
            low += 1
        if weight > best + 1e-9:
            best, centre = weight, (found[low][0] + found[high][0]) // 2
    # Between two parts nothing is shown: the centre is the nearest place in one of them.
    inside = (max(first, min(centre, last - 1)) for first, last in within)
    return min(inside, key=lambda place: abs(place - centre))


def _snapped(text: str, at: int) -> int:
    """Moves a cut back to a space nearby, or else to the beginning of a character as it is seen."""
    if at <= 0 or at >= len(text):
        return min(max(at, 0), len(text))
    for near in range(at, max(0, at - NEAR_SPACE), -1):
        if text[near].isspace() or text[near - 1].isspace():
            return near
    return whole(text, at)
