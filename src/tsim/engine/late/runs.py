"""All runs of a thread as columns, and what is looked up in them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.rank import Values
from tsim.vectors import Vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunTable:
    """All runs of a thread: the closed ones in the order they were added, then the open ones.

    Attributes:
        begins: The first place of each.
        ends: The place after its last.
        opens: Confidence of a new topic before it.
        closes: Confidence of a new topic after it.
        words: Its number of words.
        length: The logarithm of this number.
        owners: For every place of every run, the run.
        places: The same, the place.
        open_vectors: The vectors of the open ones: means of their turns' vectors.
        tells: The share of its words by speakers in the first person: the mean of their logarithms.
        excess: The logarithm of the length of the long turn that it is a part of, relative to the
            shortest long turn; 0 if it consists of whole turns.
        order: What finds the runs at a place.
    """

    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    opens: Values
    closes: Values
    words: Values
    length: Values
    owners: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    open_vectors: Vectors
    tells: Values
    excess: Values
    order: "Order"

    def sums(self, values: npt.NDArray[np.integer | np.bool_]) -> npt.NDArray[np.int64]:
        """Returns the sum of the values of each run's turns, from one value per turn."""
        total = np.append(0, np.cumsum(values, dtype=np.int64))
        out: npt.NDArray[np.int64] = total[self.ends] - total[self.begins]
        return out

    def highest(self, values: Values) -> Values:
        """Returns the highest value inside each run, from one value per turn."""
        if not len(self.begins):
            return values[:0]
        sizes = self.ends - self.begins
        out: Values = np.maximum.reduceat(values[self.places], np.cumsum(sizes) - sizes)
        return out

    def overlapping(self, first: int, last: int) -> npt.NDArray[np.int64]:
        """Returns the runs with any turn from `first` up to, but excluding, `last`."""
        order = self.order
        # No run that begins earlier reaches the first of these turns.
        earliest = first - order.longest + 1
        low, high = np.searchsorted(order.begins, [earliest, last]).tolist()
        found = order.runs[low:high]
        out: npt.NDArray[np.int64] = np.sort(found[self.ends[found] > first])
        return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Order:
    """The runs of a thread by place.

    Attributes:
        begins: The first places of all runs, ascending.
        runs: Their runs.
        longest: The most places that a run has.
    """

    begins: npt.NDArray[np.int64]
    runs: npt.NDArray[np.int64]
    longest: int

    @classmethod
    def of(cls, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> "Order":
        """Sorts runs; the arguments are as in `RunTable`."""
        runs = np.argsort(begins, kind="stable")
        longest = int((ends - begins).max(initial=0))
        return cls(begins=begins[runs], runs=runs, longest=longest)
