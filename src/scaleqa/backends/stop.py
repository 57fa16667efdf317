"""Ending a run early: whoever waits or is about to ask is told, and nothing more is spent."""

import threading
from collections.abc import Callable


class StoppedError(Exception):
    """The run was interrupted, or another package has failed."""


class Stop:
    """Set by whoever ends a run, and looked at by everybody who works for it."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        """Starts unset.

        Args:
            tell: Shows a line to the user.
        """
        self.tell: Callable[[str], None] = tell or (lambda _: None)
        self._event = threading.Event()

    def set(self) -> None:
        """Ends the run."""
        self._event.set()

    def clear(self) -> None:
        """Allows another run, when nobody works for the ended one any more."""
        self._event.clear()

    def check(self) -> None:
        """Does nothing while the run goes on.

        Raises:
            StoppedError: It was ended.
        """
        if self._event.is_set():
            raise StoppedError

    def sleep(self, seconds: float) -> None:
        """Waits, but no longer than the run goes on.

        Raises:
            StoppedError: It was ended.
        """
        self._event.wait(seconds)
        self.check()
