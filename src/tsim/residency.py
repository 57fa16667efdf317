"""Which threads stay in RAM: those used latest, up to a number of turns.

A thread is loaded when it is used. What it keeps in RAM can always be loaded again, so the threads
that were not used for the longest time let go of it when there is too much in all. One `Residency`
may serve several memories.
"""

import threading
from collections.abc import Iterable
from itertools import islice
from typing import Protocol

from tsim.arguments import positive

# Turns of all threads that stay in RAM by default.
RESIDENT_TURNS = 250_000
# What a thread takes besides its turns, in turns.
OVERHEAD = 10


class Loaded(Protocol):
    """Something that can be loaded again; compared by identity."""

    def unload(self) -> bool:
        """Lets go of what it keeps in RAM, without waiting; returns False if it is in use."""
        ...


class Residency:
    """The threads in RAM, in the order of their last use.

    Threads that are in use are never unloaded, and the latest used one stays however long it is:
    loading it for every search would take longer than anything else. What is in RAM is therefore
    within the bound, or one thread, and those in use at the moment.
    """

    def __init__(self, turns: int | None = RESIDENT_TURNS) -> None:
        """Starts without threads.

        Args:
            turns: Maximum number of turns in all threads together; each thread counts as 10 turns
                more than it has, each passage of a long turn as a turn, and so do two sentences.
                None for no bound.

        Raises:
            InputError: The number is not whole or less than 1.
        """
        positive(resident=turns)
        self._most = turns
        self._sizes: dict[Loaded, int] = {}  # the latest used last
        self._total = 0
        # Held for moments. Whoever has it does not wait for a thread, so that threads may report
        # while they are in use.
        self._guard = threading.Lock()

    @property
    def turns(self) -> int:
        """What is in RAM, in turns, as it is compared with the bound."""
        return self._total

    def used(self, thread: Loaded, turns: int | None) -> None:
        """Notes that a thread was used, and how many turns it has; None if it was unloaded."""
        with self._guard:
            self._remove(thread)
            if turns is not None:
                self._sizes[thread] = turns + OVERHEAD
                self._total += turns + OVERHEAD

    def trim(self) -> None:
        """Unloads threads, the latest used ones last, until the others are within the bound."""
        if self._most is None:
            return
        with self._guard:
            excess = self._total - self._most
            unloaded: list[Loaded] = []
            for thread in islice(self._sizes, max(0, len(self._sizes) - 1)):
                if excess <= 0:
                    break
                if thread.unload():
                    excess -= self._sizes[thread]
                    unloaded.append(thread)
            for thread in unloaded:
                self._remove(thread)

    def unload(self, threads: Iterable[Loaded]) -> None:
        """Unloads threads that are not in use."""
        with self._guard:
            for thread in threads:
                if thread in self._sizes and thread.unload():
                    self._remove(thread)

    def _remove(self, thread: Loaded) -> None:
        self._total -= self._sizes.pop(thread, 0)
