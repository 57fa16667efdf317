"""Cosines of windows (runs of `width` rows), without storing a vector for each window.

For unit rows x and a unit query q, cos(q, Σx) = Σ(q·x) / |Σx|. The dot products of single rows are
computed anyway, so only one number per window is stored: the length of its sum.
"""

from array import array

import numpy as np
import numpy.typing as npt

from tsim.index.dense import DenseIndex
from tsim.vectors import Vector

STEP = 1024
LEAST = np.float32(1e-6)


class WindowIndex:
    """The lengths of the sums of all windows of a growing matrix."""

    def __init__(self, rows: DenseIndex, width: int) -> None:
        """Uses a matrix to which rows may still be added."""
        self._rows = rows
        self._width = width
        self._lengths = array("f")

    def scores(self, similar: Vector) -> Vector:
        """Returns the cosine of each window with a query, by the window's first row.

        Args:
            similar: The cosine of each row with the query.
        """
        width = min(self._width, len(similar))
        if not width:
            return np.zeros(0, dtype=np.float32)
        if width < self._width:  # the thread is shorter than a window: use one window for all of it
            lengths = self._measured(0, 1, width)
        else:
            self._catch_up()
            lengths = np.frombuffer(self._lengths, dtype=np.float32)
        return np.divide(summed(similar, width), np.maximum(lengths, LEAST), dtype=np.float32)

    def _catch_up(self) -> None:
        count = len(self._rows) - self._width + 1
        for first in range(len(self._lengths), count, STEP):
            last = min(count, first + STEP)
            self._lengths.frombytes(self._measured(first, last, self._width).tobytes())

    def _measured(self, first: int, last: int, width: int) -> Vector:
        rows = self._rows.take(np.arange(first, last + width - 1))
        total = summed(rows, width)
        lengths: Vector = np.sqrt(np.vecdot(total, total))
        return lengths


def summed(values: npt.NDArray[np.float32], width: int) -> npt.NDArray[np.float32]:
    """Sums every run of `width` values or rows, always in the same order of additions."""
    count = len(values) - width + 1
    total = values[:count].copy()
    for step in range(1, width):
        total += values[step : step + count]
    return total
