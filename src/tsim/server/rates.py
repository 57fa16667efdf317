"""Token buckets: how fast requests may come."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol

# Buckets that are kept; the least recently used one is dropped, and is full when it comes back.
BUCKETS = 10_000


class Buckets(Protocol):
    """A bucket for each sender, of one process or of several."""

    def take(self, sender: Hashable) -> bool:
        """Returns whether the sender may send a request now."""
        ...

    def give_back(self, sender: Hashable) -> None:
        """Returns the token of a request that is not to count."""
        ...


class Rates:
    """A bucket for each sender, refilled at a rate; a request takes one token out."""

    def __init__(
        self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begins with full buckets.

        Args:
            rate: Tokens per second.
            burst: Tokens of a full bucket.
            clock: Returns the time in seconds.
        """
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, sender: Hashable) -> bool:
        """Returns whether the sender may send a request now."""
        now = self._clock()
        tokens, since = self._buckets.pop(sender, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        admitted = tokens >= 1
        self._buckets[sender] = (tokens - admitted, now)
        if len(self._buckets) > BUCKETS:
            self._buckets.popitem(last=False)
        return admitted

    def give_back(self, sender: Hashable) -> None:
        """Returns the token of a request that is not to count."""
        if sender in self._buckets:  # else it was dropped meanwhile, and is full
            tokens, since = self._buckets[sender]
            self._buckets[sender] = (tokens + 1, since)
