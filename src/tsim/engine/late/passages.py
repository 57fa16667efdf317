"""Which passage is at each place of a thread: a whole turn, or a part of a long one."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.engine.protocol import Shown
from tsim.index.taking import Places, taken
from tsim.state import SentenceRow

# A range of characters of a turn's text: the first, and the one after the last.
Range: TypeAlias = tuple[int, int]


class Passages:
    """The passages of a growing thread, in order. Those of a turn are added together."""

    def __init__(self, starts: Iterable[int]) -> None:
        """Starts with passages, given by the character of its turn at which each begins."""
        self._starts = array("I", starts)
        self._ends = array("I")
        self.further = sum(1 for start in self._starts if start)
        self._turns: npt.NDArray[np.int64] | None = None

    def __getitem__(self, place: int) -> Range:
        """Returns the characters of the passage at a place whose text has been read."""
        return self._starts[place], self._ends[place]

    @property
    def starts(self) -> npt.NDArray[np.uint32]:
        """The character at which each passage begins; 0 for the first of a turn."""
        return np.frombuffer(self._starts, dtype=np.uint32)

    @property
    def turns(self) -> npt.NDArray[np.int64] | None:
        """The number of the turn at each place; None if every turn has one place."""
        if self.further and (self._turns is None or len(self._turns) != len(self._starts)):
            self._turns = np.cumsum(self.starts == 0)
        return self._turns

    def extend(self, starts: Sequence[int]) -> None:
        """Adds passages."""
        self._starts.extend(starts)
        self.further += sum(1 for start in starts if start)

    def truncate(self, length: int) -> None:
        """Removes the passages from a place on."""
        self.further -= sum(1 for start in self._starts[length:] if start)
        del self._starts[length:], self._ends[length:]
        self._turns = None

    def kept(self, places: Places) -> "Passages":
        """Returns some passages alone, of whole turns that have been read."""
        out = Passages(taken(self._starts, places))
        out._ends = taken(self._ends, places)
        return out

    def read(self, text: str) -> list[Range]:
        """Returns the passages of the first unread turn, given its text."""
        first = last = len(self._ends)
        while last + 1 < len(self._starts) and self._starts[last + 1]:
            last += 1
        found = list(pairwise([*self._starts[first : last + 1], len(text)]))
        self._ends.extend(end for _, end in found)
        return found

    def places(self, ids: Sequence[int], first: int, parts: Sequence[SentenceRow]) -> list[int]:
        """Returns the place of the passage that each of some sentences is in.

        Args:
            ids: The turn at each place of the thread.
            first: A place at or before all of them, where a turn begins.
            parts: The sentences, in order of turns and characters.
        """
        found, place, last = [], first, len(ids) - 1
        for part in parts:
            key = part.turn, part.start
            while place < last and (ids[place + 1], self._starts[place + 1]) <= key:
                place += 1
            found.append(place)
        return found

    def divided(self) -> npt.NDArray[np.bool_]:
        """Returns for each place whether it is a part of a turn."""
        further = self.starts > 0
        out: npt.NDArray[np.bool_] = further | np.append(further[1:], False)
        return out

    def apart(self, first: int, last: int) -> npt.NDArray[np.bool_]:
        """Returns for each place whether the gap before it touches a divided turn."""
        further = np.zeros(last - first + 2, dtype=np.bool_)
        low, high = max(0, first - 1), min(len(self._starts), last + 1)
        further[low - first + 1 : high - first + 1] = self.starts[low:high] > 0
        out: npt.NDArray[np.bool_] = further[:-2] | further[1:-1] | further[2:]
        return out

    def shown(
        self, span: Sequence[int], ids: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[Shown, ...]]:
        """Returns the turns of a span, and which parts of each it shows.

        Args:
            span: Its places, ascending.
            ids: The turn at each place of the thread.
        """
        parts: dict[int, list[Range]] = {}
        for place in span:
            start, end = self[place]
            ranges = parts.setdefault(ids[place], [])
            if ranges and ranges[-1][1] == start:
                start, _ = ranges.pop()
            ranges.append((start, end))
        lasts = {ids[place]: place for place in span}
        whole = {
            turn
            for turn, place in lasts.items()
            if parts[turn] == [(0, self._ends[place])] and not self._continues(place)
        }
        return tuple(parts), tuple(
            None if turn in whole else tuple(ranges) for turn, ranges in parts.items()
        )

    def _continues(self, place: int) -> bool:
        """Returns whether the turn at a place has a passage after it."""
        return place + 1 < len(self._starts) and self._starts[place + 1] > 0
