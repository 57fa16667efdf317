"""Packing: the turns worth their tokens, as spans, within a budget."""

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tsim.rank.spans import Values
from tsim.vectors import best

# Words a heading takes, and words a mark of missing turns takes: see `tsim.assemble`.
HEADING, MARK = 4, 1
# A turn is a speaker and at least one word.
SHORTEST = 2


def pack(
    values: Values, words: npt.NDArray[np.uint32], *, budget: int, long: int, skip: int
) -> list[int]:
    """Chooses turns by value, and by value per word where they are long.

    A turn up to `long` words is taken for its value: what a short turn says grows with its length,
    so per word it is worth its value. Beyond that, words are only paid for. Turns that do not fit
    are passed over.

    Args:
        values: Of each place.
        words: That each place takes in a context.
        budget: Most words, headings and marks included.
        long: See above.
        skip: Turns that may be missing inside a span; more, and another one begins.

    Returns:
        The chosen places, ascending.
    """
    worth = (values / np.maximum(1.0, words / long)).astype(np.float32)
    chosen: list[int] = []
    left = budget
    for place in best(worth, budget // SHORTEST):
        if left < SHORTEST:
            break
        price = int(words[place]) + _joint(chosen, place, skip)
        if price <= left:
            insort(chosen, place)
            left -= price
    return chosen


def gather(chosen: Sequence[int], skip: int) -> list[tuple[int, ...]]:
    """Gathers chosen places into spans, in order."""
    out: list[list[int]] = []
    for place in chosen:
        if not out or place - out[-1][-1] > skip + 1:
            out.append([])
        out[-1].append(place)
    return [tuple(span) for span in out]


def _joint(chosen: Sequence[int], place: int, skip: int) -> int:
    """Words that headings and marks grow by when a place joins the chosen ones."""
    at = bisect_left(chosen, place)
    before = place - chosen[at - 1] if at else None
    after = chosen[at] - place if at < len(chosen) else None
    if before is None and after is None:
        return HEADING
    if before is None or after is None:
        return _between(before or after or 0, skip)
    return _between(before, skip) + _between(after, skip) - _between(before + after, skip)


def _between(distance: int, skip: int) -> int:
    """Words between two neighbouring chosen places: nothing, a mark, or another heading."""
    if distance == 1:
        return 0
    return MARK if distance <= skip + 1 else HEADING
