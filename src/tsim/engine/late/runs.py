"""All runs of a thread as columns."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.index import Ranges
from tsim.rank import Values
from tsim.vectors import Vector

# Vectors of opposite directions may add up to none.
LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunTable:
    """All runs of a thread: the closed ones in the order they were added, then the open ones.

    The passages of divided turns come last: each is both a run and a turn.

    Attributes:
        ranges: Their places.
        opens: Confidence of a new topic before it.
        closes: Confidence of a new topic after it.
        words: Its number of words.
        length: The logarithm of this number.
        sums: The length of the sum of its turns' vectors, of each open one.
        tells: The share of its words by speakers in the first person: the mean of their logarithms.
        excess: The logarithm of the length of the long turn that it is a part of, relative to the
            shortest long turn; 0 if it consists of whole turns.
        passages: The places of the passages of divided turns, which are the last runs.
    """

    ranges: Ranges
    opens: Values
    closes: Values
    words: Values
    length: Values
    sums: Values
    tells: Values
    excess: Values
    passages: npt.NDArray[np.int64]

    def with_passages(self, turns: Values, runs: Values) -> Values:
        """Adds to the probabilities of turns what passages have as runs: these are the same text.

        Args:
            turns: The probability of every turn.
            runs: The probability of every run.
        """
        if not len(self.passages):
            return turns
        out = turns.copy()
        out[self.passages] += runs[len(runs) - len(self.passages) :]
        return out

    def open_cosines(self, similar: Vector) -> Vector:
        """Returns the cosines of a question and the means of the open runs' vectors.

        Args:
            similar: The cosine of the question and each turn.
        """
        first = len(self.begins) - len(self.sums)
        # Every second sum is over what lies between two runs; nothing begins after the last place.
        edges = np.stack([self.begins[first:], self.ends[first:]], axis=1).ravel()
        padded = np.append(similar, np.float32(0))
        summed = np.add.reduceat(padded, edges, dtype=np.float64)[::2]
        cosines: Vector = (summed / np.maximum(self.sums, LEAST)).astype(np.float32)
        return cosines

    @property
    def begins(self) -> npt.NDArray[np.int64]:
        """The first place of each."""
        return self.ranges.begins

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """The place after its last."""
        return self.ranges.ends
