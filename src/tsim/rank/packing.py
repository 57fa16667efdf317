"""Packing: chooses the most valuable turns within a budget and groups them into spans."""

from bisect import bisect_left, insort
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.rank.spans import Values
from tsim.vectors import best

Numbers: TypeAlias = npt.NDArray[np.int64]
# Places whose prices are looked up at once.
CHUNK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The sizes of what a context consists of, in the unit of some measure.

    Attributes:
        turns: Returns the sizes of the turns at some places.
        heading: The size of a heading.
        mark: The size of the mark for missing turns.
        shortest: The size of the shortest turn.
    """

    turns: Callable[[Sequence[int]], Sequence[int]]
    heading: int
    mark: int
    shortest: int


def pack(
    values: Values,
    prices: Prices,
    *,
    room: int,
    max_skipped: int,
    after_forgotten: Container[int] = (),
    turns: Numbers | None = None,
) -> list[int]:
    """Chooses turns by value per word; turns that do not fit are skipped.

    Args:
        values: The value per word of each place; minus infinity if it must not be chosen.
        prices: What each place takes up in a context.
        room: Maximum size, including headings and marks.
        max_skipped: Turns that may be missing inside a span; a larger gap begins a new span.
        after_forgotten: Places directly after forgotten turns, where a mark is needed too.
        turns: The number of the turn at each place, if some turns have several.

    Returns:
        The chosen places, ascending.
    """
    joints = _Joints(max_skipped, after_forgotten, turns, prices.heading, prices.mark)
    chosen: list[int] = []
    left = room
    places = best(values.astype(np.float32), min(len(values), room // prices.shortest))
    allowed = int(np.count_nonzero(values[places] > -np.inf))
    for place, size in _sized(prices, places[:allowed]):
        most = left + prices.heading  # joining two spans saves at most one heading
        if most < prices.shortest:
            break
        if size > most:
            continue
        price = size + joints.added(chosen, place)
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


def _sized(prices: Prices, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields places with their sizes, which are looked up as they are needed."""
    for start in range(0, len(places), CHUNK):
        some = places[start : start + CHUNK]
        yield from zip(some, prices.turns(some), strict=True)


@dataclass(frozen=True, slots=True)
class _Joints:
    """What stands between chosen places in a context; prices may be left out for grouping."""

    max_skipped: int
    after_forgotten: Container[int]
    turns: Numbers | None
    heading: int = 0
    mark: int = 0

    def near(self, first: int, second: int) -> bool:
        """Returns whether two adjacent chosen places are in one span."""
        turns = self.turns
        steps = second - first if turns is None else int(turns[second]) - int(turns[first])
        return steps <= self.max_skipped + 1

    def added(self, chosen: Sequence[int], place: int) -> int:
        """Returns the size of headings and marks that are added by choosing another place."""
        at = bisect_left(chosen, place)
        before = chosen[at - 1] if at else None
        after = chosen[at] if at < len(chosen) else None
        grown = self.heading if before is None and after is None else 0
        if before is not None:
            grown += self._between(before, place)
        if after is not None:
            grown += self._between(place, after)
        if before is not None and after is not None:
            grown -= self._between(before, after)
        return grown

    def _between(self, first: int, second: int) -> int:
        """Returns the size of what is between adjacent chosen places: none, a mark, a heading."""
        if second - first == 1:
            return self.mark if second in self.after_forgotten else 0
        return self.mark if self.near(first, second) else self.heading
