"""One value for every place of a growing thread, computed once."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.generic)
# By how much more room is made than is needed, so that it is not made for every turn.
SPARE = 1.25


class Growing(Generic[Number]):
    """The values of the places of a thread, which are computed when they are asked for.

    An array that was returned is a view: the values that may change are overwritten when there are
    more places.
    """

    def __init__(self, changing: int) -> None:
        """Starts without values, the last `changing` of which may change with the next place."""
        self._changing = changing
        self._count = 0
        self._room: npt.NDArray[Any] = np.zeros(0)

    def before(self, place: int) -> Number:
        """Returns the value before a place that has one."""
        value: Number = self._room[place - 1]
        return value

    def upto(
        self, count: int, make: Callable[[int, int], npt.NDArray[Number]]
    ) -> npt.NDArray[Number]:
        """Returns the values of `count` places.

        Args:
            count: How many places there are; no fewer than before.
            make: Computes the values from one place up to, but excluding, another.
        """
        if self._count < count:
            first = max(0, self._count - self._changing)
            fresh = make(first, count)
            if len(self._room) < count:
                room = np.empty(int(SPARE * count) if first else count, dtype=fresh.dtype)
                room[:first] = self._room[:first]
                self._room = room
            self._room[first:count] = fresh
            self._count = count
        return self._room[:count]

    def cut(self, count: int) -> None:
        """Forgets the values from a place on, and those before it that may change."""
        self._count = min(self._count, max(0, count - self._changing))
