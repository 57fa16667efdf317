"""Packing: the turns worth their tokens, as spans, within a budget."""

from bisect import bisect_left, insort
from collections.abc import Container, Sequence

import numpy as np
import numpy.typing as npt

from tsim.rank.spans import Values
from tsim.vectors import best

# Words a heading takes, and words a mark of missing turns takes: see `tsim.assemble`.
HEADING, MARK = 4, 1
# A turn is a speaker and at least one word.
SHORTEST = 2


def pack(
    values: Values,
    words: npt.NDArray[np.uint32],
    *,
    budget: int,
    long_turn_words: int,
    max_skipped: int,
    after_forgotten: Container[int] = (),
) -> list[int]:
    """Chooses turns by value, and by value per word where they are long.

    A turn up to `long_turn_words` is taken for its value: what a short turn says grows with its
    length, so per word it is worth its value. Beyond that, words are only paid for. Turns that do
    not fit are left out.

    Args:
        values: Of each place.
        words: That each place takes in a context.
        budget: Most words, headings and marks included.
        long_turn_words: See above.
        max_skipped: Turns that may be missing inside a span; more, and another one begins.
        after_forgotten: Places before which turns were forgotten: that is marked too.

    Returns:
        The chosen places, ascending.
    """
    worth = (values / np.maximum(1.0, words / long_turn_words)).astype(np.float32)
    chosen: list[int] = []
    left = budget
    places = best(worth, budget // SHORTEST)
    for place, length in zip(places, words[places].tolist(), strict=True):
        if left < SHORTEST:
            break
        if length > left + HEADING:  # joining spans saves at most a heading
            continue
        price = length + _joint(chosen, place, max_skipped, after_forgotten)
        if price <= left:
            insort(chosen, place)
            left -= price
    return chosen


def gather(chosen: Sequence[int], max_skipped: int) -> list[tuple[int, ...]]:
    """Gathers chosen places into spans, in order."""
    out: list[list[int]] = []
    for place in chosen:
        if not out or place - out[-1][-1] > max_skipped + 1:
            out.append([])
        out[-1].append(place)
    return [tuple(span) for span in out]


def _joint(
    chosen: Sequence[int], place: int, max_skipped: int, after_forgotten: Container[int]
) -> int:
    """Words that headings and marks grow by when a place joins the chosen ones."""
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
    """Words between two neighbouring chosen places: nothing, a mark, or another heading."""
    if second - first == 1:
        return MARK if second in after_forgotten else 0
    return MARK if second - first <= max_skipped + 1 else HEADING
