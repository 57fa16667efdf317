"""Packing: chooses the most valuable turns within a budget and groups them into spans."""

from bisect import bisect_left, insort
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.rank.spans import Values
from tsim.vectors import best

Numbers: TypeAlias = npt.NDArray[np.int64]
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
    turns: Numbers | None = None,
) -> list[int]:
    """Chooses turns by value per word; turns that do not fit are skipped.

    Args:
        values: The value per word of each place.
        words: The number of words that each place takes up in a context.
        budget: Maximum number of words, including headings and marks.
        max_skipped: Turns that may be missing inside a span; a larger gap begins a new span.
        after_forgotten: Places directly after forgotten turns, where a mark is needed too.
        turns: The number of the turn at each place, if some turns have several.

    Returns:
        The chosen places, ascending.
    """
    joints = _Joints(max_skipped, after_forgotten, turns)
    chosen: list[int] = []
    left = budget
    places = best(values.astype(np.float32), budget // SHORTEST)
    for place, length in zip(places, words[places].tolist(), strict=True):
        if left < SHORTEST:
            break
        if length > left + HEADING:  # joining two spans saves at most one heading
            continue
        price = length + joints.added(chosen, place)
        if price <= left:
            insort(chosen, place)
            left -= price
    return chosen


def gather(
    chosen: Sequence[int], max_skipped: int, turns: Numbers | None = None
) -> list[tuple[int, ...]]:
    """Groups chosen places into spans, in order; arguments as in `pack`."""
    joints = _Joints(max_skipped, (), turns)
    out: list[list[int]] = []
    for place in chosen:
        if not out or not joints.near(out[-1][-1], place):
            out.append([])
        out[-1].append(place)
    return [tuple(span) for span in out]


@dataclass(frozen=True, slots=True)
class _Joints:
    """What stands between chosen places in a context."""

    max_skipped: int
    after_forgotten: Container[int]
    turns: Numbers | None

    def near(self, first: int, second: int) -> bool:
        """Returns whether two adjacent chosen places are in one span."""
        turns = self.turns
        steps = second - first if turns is None else int(turns[second]) - int(turns[first])
        return steps <= self.max_skipped + 1

    def added(self, chosen: Sequence[int], place: int) -> int:
        """Returns the words of headings and marks that are added by choosing another place."""
        at = bisect_left(chosen, place)
        before = chosen[at - 1] if at else None
        after = chosen[at] if at < len(chosen) else None
        grown = HEADING if before is None and after is None else 0
        if before is not None:
            grown += self._between(before, place)
        if after is not None:
            grown += self._between(place, after)
        if before is not None and after is not None:
            grown -= self._between(before, after)
        return grown

    def _between(self, first: int, second: int) -> int:
        """Returns the words between two adjacent chosen places: none, a mark, or a heading."""
        if second - first == 1:
            return MARK if second in self.after_forgotten else 0
        return MARK if self.near(first, second) else HEADING
