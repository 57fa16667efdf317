"""The sentences of a thread: by how much the nearest one raises the cosine of its turn.

A turn is as near as its text as a whole and its nearest sentence, in part each. Only sentences of
the nearest turns are looked at: what is far as a whole is hardly among the nearest for the sake of
a sentence, and a long thread has many.
"""

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tsim.index import DenseIndex
from tsim.index.taking import Places, consecutive, moved
from tsim.vectors import Vector, Vectors, best

# Turns whose sentences are looked at. With 512 of 3,301 turns nothing was lost on s1.
LOOKED_AT = 512


class Sentences:
    """The vectors of sentences, in order, with the place of the turn or passage of each."""

    def __init__(self, dimension: int) -> None:
        """Starts without sentences."""
        self._vectors = DenseIndex(dimension)
        self._places = array("q")

    def __len__(self) -> int:
        return len(self._places)

    def extend(self, places: Sequence[int], vectors: Vectors | Sequence[Vector]) -> None:
        """Adds the sentences of new turns, in order."""
        self._places.extend(places)
        self._vectors.extend(vectors)

    def truncate(self, length: int) -> None:
        """Removes the sentences from a number on."""
        del self._places[length:]
        self._vectors.truncate(length)

    def kept(self, places: Places, length: int) -> "Sentences":
        """Returns those of some places alone, which are numbered anew.

        Args:
            places: The places.
            length: The number of places there were.
        """
        now = moved(places, length)[self.places]
        left = np.flatnonzero(now >= 0)
        out = Sentences(self._vectors.dimension)
        out.extend(now[left].tolist(), self._vectors.take(left))
        return out

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """The place of each."""
        return np.frombuffer(self._places, dtype=np.int64)

    def raised(
        self, similar: Vector, query: Vector, eligible: npt.NDArray[np.bool_], weight: float
    ) -> Vector:
        """Returns the cosines of turns as they are with their nearest sentences.

        Args:
            similar: The cosine of every turn.
            query: The vector of the question.
            eligible: Which turns may be returned.
            weight: The share of the nearest sentence.
        """
        if not weight or not len(self):
            return similar
        if len(similar) > LOOKED_AT:
            near = np.sort(best(np.where(eligible, similar, -np.inf), LOOKED_AT))
        else:
            near = np.arange(len(similar))
        first, last = (np.searchsorted(self.places, near, side=side) for side in ("left", "right"))
        some = last > first
        if not some.any():
            return similar
        near, first, sizes = near[some], first[some], (last - first)[some]
        cosines = np.vecdot(self._vectors.take(consecutive(first, sizes)), query)
        nearest = np.maximum.reduceat(cosines, np.cumsum(sizes) - sizes)
        out = similar.copy()
        out[near] += np.float32(weight) * (nearest - out[near])
        return out
