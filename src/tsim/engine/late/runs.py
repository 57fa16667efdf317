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
    """All runs of a thread: those with a vector in the order they were added, then the others.

    The others are joined from pieces, or open; then come divided turns as a whole. The passages of
    divided turns come last: each is both a run and a turn.

    Attributes:
        ranges: Their places.
        opens: Confidence of a new topic before it.
        closes: Confidence of a new topic after it.
        words: Its number of words.
        length: The logarithm of this number.
        inside: The places in runs that others are joined from.
        pieces: The run at each of these.
        sums: The length of the sum of the vectors of its pieces, of each that has none of its own.
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
    inside: npt.NDArray[np.int64]
    pieces: npt.NDArray[np.int64]
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

    def cosines(self, similar: Vector, embedded: Vector) -> Vector:
        """Returns the cosines of a question and all runs.

        That of a run without a vector is the one of the mean of its pieces' vectors, where each
        counts as often as it has turns.

        Args:
            similar: The cosine of the question and each turn.
            embedded: The cosines of the runs that have a vector.
        """
        of_pieces = similar.copy()
        of_pieces[self.inside] = embedded[self.pieces]
        return np.concatenate([embedded, self._joined(of_pieces)])

    def _joined(self, similar: Vector) -> Vector:
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
