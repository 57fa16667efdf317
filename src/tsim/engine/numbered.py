"""State shared by all engines: turn ids with their episodes, and the next ids."""

from bisect import bisect_left
from dataclasses import replace

from tsim.engine.protocol import Host
from tsim.state import Counters
from tsim.types import Receipt


class Numbered:
    """Turn ids, ascending, with their episodes, and the counters."""

    def __init__(self) -> None:
        """Starts without turns."""
        self._turn_ids: list[int] = []
        self._turn_episodes: list[int] = []
        self._counters = Counters()

    @property
    def counters(self) -> Counters:
        """The next ids to assign."""
        return self._counters

    @property
    def size(self) -> int:
        """The number of turns in RAM; the passages of a divided turn count as one each."""
        return len(self._turn_ids)

    def episode_of(self, turn: int) -> int:
        """Returns the episode of a stored turn."""
        return self._turn_episodes[bisect_left(self._turn_ids, turn)]

    def skip_to(self, turn: int) -> None:
        """Skips turn ids: the next turn gets this id."""
        self._counters = replace(self._counters, turn=max(turn, self._counters.turn))

    def warm(self, host: Host) -> None:
        """Computes nothing, unless a method leaves something to its searches."""

    def _cut_off(self, count: int) -> None:
        """Removes all but the first turns. The counters are those of the state caught up with."""
        del self._turn_ids[count:], self._turn_episodes[count:]

    def receipt(self, turn: int) -> Receipt:
        """Returns the receipt of a stored turn, as far as its neighbours are still there."""
        place = bisect_left(self._turn_ids, turn)
        episode = self._turn_episodes[place]
        before = self._turn_episodes[place - 1] if place else episode
        closed = before if before != episode else None
        return Receipt(turn=turn, episode=episode, closed=closed, known=True)
