"""A conversation that needs a memory, and a thread that notes who uses it."""

import threading
from typing import Any

from tsim import Thread

RULE = "New projects run on one consumer gpu."
QUESTION = "One consumer gpu for new projects?"
FILLER = [f"Now to bread number {number}, which needs water." for number in range(14)]


class Watched:
    """A thread that notes which threads of the process use it."""

    def __init__(self, thread: Thread) -> None:
        self.name = thread.name
        self.used: set[threading.Thread] = set()
        self._thread = thread

    def __getattr__(self, method: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self.used.add(threading.current_thread())
            return getattr(self._thread, method)(*given, **named)

        return call
