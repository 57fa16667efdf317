"""A growing matrix of unit vectors with exact search.

Rows are stored in blocks, so that growing copies at most one block and wastes no more than half of
one: most threads are short, and there may be many.
Scores are computed row by row (`vecdot`, not a matrix product): the score of a row is bit-identical
whatever the other rows are, and no BLAS thread pool is started, which on a busy machine takes
longer than the arithmetic. For large matrices, a small thread pool helps the calling thread: each
takes the next rows when it is done with some, so that none waits for another that is kept waiting.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tsim.index.helpers import HELPERS, pool
from tsim.vectors import Vector, Vectors

# Rows of a block: with 384 dimensions, more than the 4 MB from which numpy asks for huge pages.
# Without them, a scan takes a sixth longer.
BLOCK = 4096
# Rows that a thread scans before it takes the next ones.
SCANNED = 2048
# Matrices up to this many numbers are scanned faster by one thread.
ONE_THREAD = 3_000_000


class DenseIndex:
    """Vectors in order, addressed by place (row number)."""

    def __init__(self, dimension: int, vectors: Vectors | None = None) -> None:
        """Starts empty or with the given rows; full blocks of them are not copied."""
        self.dimension = dimension
        self._blocks: list[Vectors] = []
        self._length = 0
        if vectors is not None:
            whole = len(vectors) // BLOCK * BLOCK
            self._blocks = [vectors[start : start + BLOCK] for start in range(0, whole, BLOCK)]
            self._length = whole
            self.extend(vectors[whole:])

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int) -> Vector:
        if not 0 <= place < self._length:
            raise IndexError(place)
        row: Vector = self._blocks[place // BLOCK][place % BLOCK]
        return row

    def extend(self, vectors: Vectors | Sequence[Vector]) -> None:
        """Appends rows."""
        done = 0
        while done < len(vectors):
            start = self._length % BLOCK
            count = min(BLOCK - start, len(vectors) - done)
            self._make_room(start, start + count)
            self._blocks[-1][start : start + count] = vectors[done : done + count]
            self._length += count
            done += count

    def _make_room(self, used: int, rows: int) -> None:
        """Makes the last block large enough for some rows, or begins one if it is full."""
        if not used:
            self._blocks.append(np.empty((rows, self.dimension), dtype=np.float32))
        elif len(self._blocks[-1]) < rows:
            room = min(BLOCK, max(rows, 2 * used))
            larger = np.empty((room, self.dimension), dtype=np.float32)
            larger[:used] = self._blocks[-1][:used]
            self._blocks[-1] = larger

    def truncate(self, length: int) -> None:
        """Removes the rows from a place on."""
        self._length = min(length, self._length)
        del self._blocks[-(-self._length // BLOCK) :]

    def replace(self, place: int, vector: Vector) -> None:
        """Overwrites a row."""
        self[place][:] = vector

    def delete(self, place: int) -> None:
        """Removes a row; the rows after it move up."""
        rest = [self[later].copy() for later in range(place + 1, self._length)]
        self.truncate(place)
        self.extend(rest)

    def take(self, places: Sequence[int] | npt.NDArray[np.int64]) -> Vectors:
        """Copies the given rows into a matrix; places must be ascending."""
        wanted = np.asarray(places, dtype=np.int64)
        out = np.empty((len(wanted), self.dimension), dtype=np.float32)
        edges = np.searchsorted(wanted, [n * BLOCK for n in range(len(self._blocks) + 1)])
        for block, (first, last) in zip(self._blocks, pairwise(edges.tolist()), strict=True):
            if first < last:
                np.take(block, wanted[first:last] % BLOCK, axis=0, out=out[first:last])
        return out

    def scores(self, query: Vector) -> Vector:
        """Returns the cosine of each row with the query."""
        return self.scanning(query)()

    def scanning(self, query: Vector) -> Callable[[], Vector]:
        """Lets helpers begin to compute the cosine of each row with the query.

        Returns:
            What computes the rest and returns the cosines. Whatever the caller does before it asks
            for them costs no time if there are helpers. No rows may be changed in between.
        """
        out = np.empty(self._length, dtype=np.float32)
        starts = iter(range(0, self._length, SCANNED))  # shared: each row is scanned once
        large = self._length * self.dimension > ONE_THREAD
        work = [
            pool().submit(self._scan, query, out, starts) for _ in range(HELPERS if large else 0)
        ]

        def finish() -> Vector:
            self._scan(query, out, starts)
            for part in work:
                if not part.cancel():  # one that has not begun has nothing left to do
                    part.result()
            return out

        return finish

    def _scan(self, query: Vector, out: Vector, starts: Iterable[int]) -> None:
        for start in starts:
            scores = out[start : start + SCANNED]
            block, first = self._blocks[start // BLOCK], start % BLOCK
            np.vecdot(block[first : first + len(scores)], query, out=scores)
