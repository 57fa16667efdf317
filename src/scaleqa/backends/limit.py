"""Client-side limits: staying below what a provider allows costs less than being refused."""

import threading
import time
from collections.abc import Callable


class Limiter:
    """A bucket of one token: requests start no closer than a minute over `rpm`.

    No burst is allowed, since providers count in windows of their own; retries count too.
    """

    def __init__(
        self,
        rpm: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Starts with the token there."""
        self._interval = 60.0 / rpm
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free = clock()

    def wait(self) -> None:
        """Returns when the caller's turn has come; turns are given in the order of asking."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._free)
            self._free = turn + self._interval
        if turn > now:
            self._sleep(turn - now)
