"""Ranges of consecutive places, which may overlap, and what is looked up in them."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tsim.index.taking import Places, consecutive

Number = TypeVar("Number", np.float32, np.float64)
# Share of all places up to which it is faster to look up each of them than to sum along the thread.
FEW = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranges:
    """Ranges of places, in any order.

    Attributes:
        begins: The first place of each.
        ends: The place after its last.
        longest: The most places that one has.
        order: The ranges by their first place.
        ordered: The first places in this order.
    """

    begins: Places
    ends: Places
    longest: int
    order: Places
    ordered: Places

    @classmethod
    def of(cls, begins: Places, ends: Places) -> "Ranges":
        """Sorts ranges, none of which is empty."""
        order = np.argsort(begins, kind="stable")
        return cls(
            begins=begins,
            ends=ends,
            longest=int((ends - begins).max(initial=0)),
            order=order,
            ordered=begins[order],
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
        if len(places) > FEW * count:
            every = np.zeros(count, dtype=np.int32)
            every[places] = values
            return self.sums(every)
        # The ranges that begin neither after a place nor too early to reach it.
        low = np.searchsorted(self.ordered, places - self.longest + 1)
        sizes = np.searchsorted(self.ordered, places, side="right") - low
        near = self.order[consecutive(low, sizes)]
        inside = np.flatnonzero(self.ends[near] > np.repeat(places, sizes))
        found = np.repeat(values, sizes)[inside]
        return np.bincount(near[inside], weights=found, minlength=len(self)).astype(np.int64)

    def highest(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Returns the highest value in each range, from one value per place.

        A range is covered by two overlapping blocks whose length is the highest power of two up to
        its own. The highest values of all blocks take a few passes over the thread.
        """
        if not len(self):
            return values[:0]
        table = np.empty((self.longest.bit_length(), len(values)), dtype=values.dtype)
        table[0] = values
        for level in range(1, len(table)):
            half, below = 1 << (level - 1), table[level - 1]
            np.maximum(below[:-half], below[half:], out=table[level, :-half])
            table[level, -half:] = below[-half:]  # blocks that would end after the last place
        first, second = self._blocks(len(values))
        flat = table.ravel()
        return np.maximum(flat[first], flat[second])

    def raised(
        self, values: npt.NDArray[Number], least: npt.NDArray[Number]
    ) -> npt.NDArray[Number]:
        """Returns the highest value of the ranges at each place, or its `least` if that is higher.

        Args:
            values: One value per range.
            least: One value per place.
        """
        if not len(self):
            return least
        table = np.full((self.longest.bit_length(), len(least)), -np.inf, dtype=least.dtype)
        table[0] = least
        for block in self._blocks(len(least)):
            np.maximum.at(table.ravel(), block, values)
        for level in range(len(table) - 1, 0, -1):  # a block gives its value to both halves
            half, above, below = 1 << (level - 1), table[level], table[level - 1]
            np.maximum(below, above, out=below)
            np.maximum(below[half:], above[:-half], out=below[half:])
        out: npt.NDArray[Number] = table[0]
        return out

    def _blocks(self, count: int) -> tuple[Places, Places]:
        """Returns the two blocks that cover each range, as places in a table.

        The table has `count` columns, and a row of blocks for each power of two.
        """
        levels = np.frexp(self.ends - self.begins)[1].astype(np.int64) - 1
        rows = levels * count
        return rows + self.begins, rows + self.ends - (1 << levels)

    def overlapping(self, first: int, last: int) -> Places:
        """Returns the ranges with any place from `first` up to, but excluding, `last`."""
        # None that begins earlier reaches the first of these places.
        earliest = first - self.longest + 1
        low, high = np.searchsorted(self.ordered, [earliest, last]).tolist()
        found = self.order[low:high]
        out: Places = np.sort(found[self.ends[found] > first])
        return out
