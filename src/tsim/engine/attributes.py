"""What is known about each turn besides its text: when, by whom, and what was noted about it."""

import math
from array import array

import numpy as np
import numpy.typing as npt

from tsim.filter import Filter, notes
from tsim.index.taking import Places, moved, renumbered, taken
from tsim.types import Turn

UNKNOWN = math.nan


class Attributes:
    """The times, speakers and notes of a growing thread, by place."""

    def __init__(self) -> None:
        """Starts without turns."""
        self._times = array("d")
        self._roles = array("I")
        self._numbers: dict[str, int] = {}
        self._noted: dict[tuple[str, str], array[int]] = {}  # the places of each note

    def __len__(self) -> int:
        return len(self._times)

    def append(self, turn: Turn) -> None:
        """Adds a turn."""
        for note in notes(turn.meta or {}):
            self._noted.setdefault(note, array("I")).append(len(self))
        self._times.append(UNKNOWN if turn.at is None else turn.at)
        self._roles.append(self._numbers.setdefault(turn.role, len(self._numbers)))

    def kept(self, places: Places) -> "Attributes":
        """Returns the attributes of some places alone."""
        out = Attributes()
        out._times = taken(self._times, places)
        former, out._roles = renumbered(self.roles[places])
        roles = [*self._numbers]
        out._numbers = {roles[number]: place for place, number in enumerate(former)}
        place_of = moved(places, len(self))
        for note, noted in self._noted.items():
            left = place_of[np.frombuffer(noted, dtype=np.uint32)]
            if (left >= 0).any():
                out._noted[note] = array("I", left[left >= 0].astype(np.uint32).tobytes())
        return out

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """The time of each turn in seconds since the epoch; NaN if it is not known."""
        return np.frombuffer(self._times, dtype=np.float64)

    @property
    def roles(self) -> npt.NDArray[np.uint32]:
        """The speaker of each turn, as a number."""
        return np.frombuffer(self._roles, dtype=np.uint32)

    def eligible(self, only: Filter) -> npt.NDArray[np.bool_]:
        """Returns which turns pass a filter; those without a time pass no filter by time."""
        passed = np.ones(len(self), dtype=np.bool_)
        if only.since is not None:
            passed &= self.times >= only.since
        if only.until is not None:
            passed &= self.times < only.until
        if only.roles is not None:
            named = [number for role, number in self._numbers.items() if role in only.roles]
            passed &= np.isin(self.roles, named)
        for note in only.meta or ():
            noted = np.zeros(len(self), dtype=np.bool_)
            noted[self._noted.get(note, array("I"))] = True
            passed &= noted
        return passed
