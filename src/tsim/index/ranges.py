"""Ranges of consecutive places, which may overlap, and what is looked up in them."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tsim.index.taking import Places, consecutive

Number = TypeVar("Number", np.float32, np.float64)
# Up to so many places, summing along all of them is faster than looking up some; of more places, up
# to this share of them is looked up.
SHORT, FEW = 16_000, 0.03


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Blocks:
    """The blocks of one size that cover ranges: two for each range.

    The size is the highest power of two up to the length of the range, so that they overlap.

    Attributes:
        size: Their number of places.
        ranges: The ranges that they cover.
        places: The first places of the blocks at the beginnings of these ranges, then of those at
            their ends.
    """

    size: int
    ranges: Places
    places: Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranges:
    """Ranges of places, in any order.

    Attributes:
        begins: The first place of each.
        ends: The place after its last.
        longest: The most places that one has.
        order: The ranges by their first place.
        ordered: The first places in this order.
        blocks: What covers them: blocks of 1, 2, 4, … places.
    """

    begins: Places
    ends: Places
    longest: int
    order: Places
    ordered: Places
    blocks: tuple[_Blocks, ...]

    @classmethod
    def of(cls, begins: Places, ends: Places) -> "Ranges":
        """Sorts ranges, none of which is empty."""
        order = np.argsort(begins, kind="stable")
        lengths = ends - begins
        longest = int(lengths.max(initial=0))
        blocks = []
        for size in (1 << level for level in range(longest.bit_length())):
            some = np.flatnonzero((lengths >= size) & (lengths < 2 * size))
            places = np.concatenate([begins[some], ends[some] - size])
            blocks.append(_Blocks(size=size, ranges=some, places=places))
        return cls(
            begins=begins,
            ends=ends,
            longest=longest,
            order=order,
            ordered=begins[order],
            blocks=tuple(blocks),
        )

    def __len__(self) -> int:
        return len(self.begins)

    def sums(self, values: npt.NDArray[np.integer | np.bool_]) -> Places:
        """Returns the sum of the values in each range, from one value per place."""
        total = np.zeros(len(values) + 1, dtype=np.int64)
        np.cumsum(values, dtype=np.int64, out=total[1:])
        out: Places = total[self.ends] - total[self.begins]
        return out

    def sums_at(self, places: Places, values: npt.NDArray[np.integer], count: int) -> Places:
        """Returns the sum of the values in each range, from values at some of `count` places."""
        if count <= SHORT or len(places) > FEW * count:
            every = np.zeros(count, dtype=np.int32)
            every[places] = values
            return self.sums(every)
        found, which = self.containing(places)
        weights = values[which]
        return np.bincount(found, weights=weights, minlength=len(self)).astype(np.int64)

    def containing(self, places: Places) -> tuple[Places, Places]:
        """Returns the ranges at some places, and for each of them which of the places it is at."""
        # The ranges that begin neither after a place nor too early to reach it.
        low = np.searchsorted(self.ordered, places - self.longest + 1)
        sizes = np.searchsorted(self.ordered, places, side="right") - low
        near, which = self.order[consecutive(low, sizes)], np.repeat(np.arange(len(places)), sizes)
        inside = self.ends[near] > places[which]
        return near[inside], which[inside]

    def highest(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Returns the highest value in each range, from one value per place.

        That of a range is the higher one of two blocks, and that of a block of two halves: a few
        passes over the thread.
        """
        out = np.empty(len(self), dtype=values.dtype)
        table = values  # the highest value of each block, by its first place
        for blocks in self.blocks:
            if half := blocks.size // 2:
                table = np.maximum(table[:-half], table[half:])
            found = table[blocks.places].reshape(2, -1)
            out[blocks.ranges] = np.maximum(found[0], found[1])
        return out

    def raised(
        self, values: npt.NDArray[Number], least: npt.NDArray[Number]
    ) -> npt.NDArray[Number]:
        """Returns the highest value of the ranges at each place, or its `least` if that is higher.

        Args:
            values: One value per range.
            least: One value per place.
        """
        table = least[:0]  # the highest value of the ranges that each block covers
        for blocks in reversed(self.blocks):
            size, larger = blocks.size, table
            # A block gives its value to both halves, first to the earlier one.
            if size > 1:
                further = len(least) - size + 1 - len(larger)
                table = np.concatenate([larger, np.full(further, -np.inf, dtype=least.dtype)])
            else:
                table = least.copy()
                np.maximum(table[: len(larger)], larger, out=table[: len(larger)])
            if len(larger):
                np.maximum(table[size:], larger, out=table[size:])
            some = values[blocks.ranges]
            np.maximum.at(table, blocks.places, np.concatenate([some, some]))
        return table if self.blocks else least
