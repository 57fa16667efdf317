"""How many wrong keys a server checks: few, since each check is made to be slow."""

import threading

from tsim.errors import TooManyError
from tsim.server.rates import Buckets, Rates

RATE = 10.0
BURST = 20


class Failures:
    """Buckets that failures empty and time fills: one for each key, and one for strangers.

    So that whoever sends wrong keys does not keep out those who have one.
    """

    def __init__(self, rates: Buckets | None = None) -> None:
        """Begins with full buckets.

        Args:
            rates: How many failures may come, and how fast.
        """
        self._guard = threading.Lock()
        self._rates = rates or Rates(RATE, BURST)

    def expect(self, key: str) -> None:
        """Counts a failure before it happens, so that those at the same time are counted, too.

        Args:
            key: The id of the key; empty if there is none of this id.

        Raises:
            TooManyError: There were too many.
        """
        with self._guard:
            if not self._rates.take(key):
                raise TooManyError("too many wrong keys were sent; try again in a second")

    def take_back(self, key: str) -> None:
        """Says that what was expected to fail did not."""
        with self._guard:
            self._rates.give_back(key)
