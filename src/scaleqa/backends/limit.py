"""Client-side rate limiting."""

import fcntl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tsim import private

# Requests that may wait at the same time. A turn further ahead was given by a clock that is wrong.
MOST_WAITING = 1000


class Pace(Protocol):
    """Says when the next request may start."""

    def wait(self) -> None:
        """Blocks until then."""
        ...


class Limiter:
    """Spaces requests at least 60 / `rpm` seconds apart.

    Bursts are not allowed, because providers count in windows of their own. Retries count too.
    """

    def __init__(
        self,
        rpm: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Allows the first request immediately."""
        self._interval = 60.0 / rpm
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free = clock()

    def wait(self) -> None:
        """Blocks until the next request may start; callers are served in order."""
        if delay := self.take():
            self._sleep(delay)

    def take(self) -> float:
        """Takes the next turn, and returns the seconds until it comes."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._free)
            self._free = turn + self._interval
        return turn - now


class SharedLimiter:
    """The same for processes, on one or several machines, that share a file.

    The file has the time of the next turn and is locked while one is taken; locks end with their
    process. Turns are 60 / `rpm` seconds apart, whoever takes them. Where clocks differ, some wait
    longer: turns are never given twice.
    """

    def __init__(
        self,
        path: Path,
        rpm: float,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Allows the first request of all immediately."""
        self._path = private.create(path)
        self._interval = 60.0 / rpm
        self._clock = clock
        self._sleep = sleep

    def wait(self) -> None:
        """Blocks until the next request may start."""
        with self._path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            now = self._clock()
            turn = max(now, self._next(file.read(), now))
            file.seek(0)
            file.truncate()
            file.write(repr(turn + self._interval))
        if turn > now:
            self._sleep(turn - now)

    def _next(self, text: str, now: float) -> float:
        try:
            found = float(text)
        except ValueError:  # new, or torn by a crash
            return now
        return found if found - now < MOST_WAITING * self._interval else now
