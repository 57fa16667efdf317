"""How many wrong keys a server checks: few, since each check is made to be slow."""

import threading
import time
from collections.abc import Callable

from tsim.errors import TooManyError

RATE = 10.0
BURST = 20


class Failures:
    """A bucket that failures empty and time fills."""

    def __init__(
        self,
        *,
        rate: float = RATE,
        burst: int = BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begins with a full bucket.

        Args:
            rate: Failures per second.
            burst: Failures that may come at once before the rate applies.
            clock: Returns a time in seconds.
        """
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._guard = threading.Lock()
        self._left = float(burst)
        self._at = clock()

    def expect(self) -> None:
        """Counts a failure before it happens, so that those at the same time are counted, too.

        Raises:
            TooManyError: There were too many.
        """
        with self._guard:
            now = self._clock()
            self._left = min(self._burst, self._left + (now - self._at) * self._rate)
            self._at = now
            if self._left < 1:
                raise TooManyError("too many wrong keys were sent; try again in a second")
            self._left -= 1

    def take_back(self) -> None:
        """Says that what was expected to fail did not."""
        with self._guard:
            self._left += 1
