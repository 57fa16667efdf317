"""Packing: chooses the most valuable turns within a budget and groups them into spans."""

from bisect import bisect_left, insort
from collections.abc import Container, Sequence

import numpy as np
import numpy.typing as npt

from tsim.rank.spans import Values
from tsim.vectors import best

# Words in a heading, and in the mark for missing turns: see `tsim.assemble`.
HEADING, MARK = 1, 1
# The shortest turn: a speaker and one word.
SHORTEST = 2


def pack(
    values: Values,
    words: npt.NDArray[np.uint32],
    *,
    budget: int,
    max_skipped: int,
    after_forgotten: Container[int] = (),
) -> list[int]:
    """Chooses turns by value per word; turns that do not fit are skipped.

    Args:
        values: The value per word of each place; minus infinity if it must not be chosen.
        words: The number of words that each place takes up in a context.
        budget: Maximum number of words, including headings and marks.
        max_skipped: Turns that may be missing inside a span; a larger gap begins a new span.
        after_forgotten: Places directly after forgotten turns, where a mark is needed too.

    Returns:
        The chosen places, ascending.
    """
    chosen: list[int] = []
    left = budget
    places = best(values.astype(np.float32), budget // SHORTEST)
    for place, length in zip(places, words[places].tolist(), strict=True):
        if left < SHORTEST or values[place] == -np.inf:
            break
        if length > left + HEADING:  # joining two spans saves at most one heading
            continue
        price = length + _joint(chosen, place, max_skipped, after_forgotten)
        if price <= left:
            insort(chosen, place)
            left -= price
    return chosen


def gather(chosen: Sequence[int], max_skipped: int) -> list[tuple[int, ...]]:
    """Groups chosen places into spans, in order."""
    out: list[list[int]] = []
    for place in chosen:
        if not out or place - out[-1][-1] > max_skipped + 1:
            out.append([])
        out[-1].append(place)
    return [tuple(span) for span in out]


def _joint(
    chosen: Sequence[int], place: int, max_skipped: int, after_forgotten: Container[int]
) -> int:
    """Returns the words of headings and marks that are added by choosing another place."""
    at = bisect_left(chosen, place)
    before = chosen[at - 1] if at else None
    after = chosen[at] if at < len(chosen) else None
    grown = HEADING if before is None and after is None else 0
    if before is not None:
        grown += _between(before, place, max_skipped, after_forgotten)
    if after is not None:
        grown += _between(place, after, max_skipped, after_forgotten)
    if before is not None and after is not None:
        grown -= _between(before, after, max_skipped, after_forgotten)
    return grown


def _between(first: int, second: int, max_skipped: int, after_forgotten: Container[int]) -> int:
    """Returns the words between two adjacent chosen places: none, a mark, or a heading."""
    if second - first == 1:
        return MARK if second in after_forgotten else 0
    return MARK if second - first <= max_skipped + 1 else HEADING
