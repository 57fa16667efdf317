"""What every engine keeps of a thread: its turns by number, and the numbers that come next."""

from collections.abc import Sequence
from dataclasses import replace

from tsim.state import Counters


class Numbered:
    """Turns with their episodes, ascending, and the counters."""

    def __init__(self) -> None:
        """Starts without turns."""
        self._turn_ids: list[int] = []
        self._turn_episodes: list[int] = []
        self._counters = Counters()

    @property
    def counters(self) -> Counters:
        """The ids that will be given next."""
        return self._counters

    def skip_to(self, turn: int) -> None:
        """Leaves out turn ids: the next turn gets this one."""
        self._counters = replace(self._counters, turn=max(turn, self._counters.turn))

    def holds(self, turns: Sequence[int]) -> bool:
        """Tells whether all these turns are known."""
        return {*turns} <= {*self._turn_ids}
