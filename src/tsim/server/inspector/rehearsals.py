"""Threads under another preset, kept for a few minutes, since replaying takes a while."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from tsim.comparing import Rehearsal
from tsim.errors import LimitError
from tsim.memory import Memory

KEPT, LASTS = 4, 300.0
# Seconds that one waits for another that is being replayed.
PATIENCE = 5.0


class Rehearsals:
    """The latest rehearsals. One that is kept is used only as long as the thread is unchanged."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Starts without any."""
        self._clock = clock
        self._guard = threading.Lock()
        self._replaying = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, str], tuple[float, Rehearsal]] = OrderedDict()

    def of(self, memory: Memory, namespace: str, thread: str, preset: str) -> Rehearsal:
        """Returns a thread under another preset.

        Raises:
            InputError: The preset is unknown, or the thread too long.
            LimitError: Another one is being replayed: they must not take up all workers.
            ThreadMissingError: The thread does not exist.
        """
        key = namespace, thread, preset
        with self._guard:
            self._expire()
            _, known = self._kept.get(key, (0.0, None))
        if not self._replaying.acquire(timeout=PATIENCE):
            raise LimitError("another thread is being replayed; try again in a few seconds")
        try:
            found = memory.rehearse(thread, preset, known=known)
        finally:
            self._replaying.release()
        with self._guard:
            self._kept[key] = self._clock(), found
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def drop(self, namespace: str, thread: str) -> None:
        """Drops a thread of which something was forgotten."""
        with self._guard:
            for key in [key for key in self._kept if key[:2] == (namespace, thread)]:
                del self._kept[key]

    def _expire(self) -> None:
        now = self._clock()
        for key in [key for key, (made, _) in self._kept.items() if now - made > LASTS]:
            del self._kept[key]
