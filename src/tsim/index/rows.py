"""A growing matrix of unit vectors with exact search.

Rows live in blocks, so growing never copies what is there and wastes at most one block. A row's
place decides its block, hence two matrices with the same rows give the same scores to the last bit,
however they came to hold them.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from tsim.vectors import Vector, Vectors

BLOCK = 2048
# Below this many numbers one core is faster than waking the others, much faster on a busy machine.
ONE_THREAD = 8_000_000


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


class Rows:
    """Vectors in order, addressed by place."""

    def __init__(self, dimension: int, vectors: Vectors | None = None) -> None:
        """Starts empty, or with a copy of the given rows."""
        self.dimension = dimension
        self._blocks: list[Vectors] = []
        self._length = 0
        if vectors is not None:
            self.extend(vectors)

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
            if start == 0:
                self._blocks.append(np.empty((BLOCK, self.dimension), dtype=np.float32))
            count = min(BLOCK - start, len(vectors) - done)
            self._blocks[-1][start : start + count] = vectors[done : done + count]
            self._length += count
            done += count

    def replace(self, place: int, vector: Vector) -> None:
        """Overwrites a row."""
        self[place][:] = vector

    def delete(self, place: int) -> None:
        """Removes a row; the rows after it move up."""
        rest = [self[later].copy() for later in range(place + 1, self._length)]
        self._length = place
        del self._blocks[-(-place // BLOCK) :]
        self.extend(rest)

    def take(self, places: Iterable[int]) -> Vectors:
        """Copies some rows into a matrix."""
        rows = [self[place] for place in places]
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def scores(self, query: Vector) -> Vector:
        """Returns the cosine of each row with the query."""
        out = np.empty(self._length, dtype=np.float32)
        if self._length * self.dimension > ONE_THREAD:
            self._dot(query, out)
        else:
            with _blas().limit(limits=1, user_api="blas"):
                self._dot(query, out)
        return out

    def _dot(self, query: Vector, out: Vector) -> None:
        for number, block in enumerate(self._blocks):
            start = number * BLOCK
            stop = min(start + BLOCK, self._length)
            np.dot(block[: stop - start], query, out=out[start:stop])
