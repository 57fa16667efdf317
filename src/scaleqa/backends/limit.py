"""Client-side rate limiting."""

import threading
import time
from collections.abc import Callable


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
        with self._lock:
            now = self._clock()
            turn = max(now, self._free)
            self._free = turn + self._interval
        if turn > now:
            self._sleep(turn - now)
