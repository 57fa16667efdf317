"""Threads that help the calling one, where there are cores for them.

Numpy computes without the interpreter's lock, so that two threads compute at once. None waits for a
helper that is kept waiting: work that no helper has begun is done by whoever needs it.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Made = TypeVar("Made")

# Threads besides the calling one.
HELPERS = min(4, os.cpu_count() or 1) - 1
# Turns from which a helper saves more time than it takes to wake it.
MANY = 30_000


@cache
def pool() -> ThreadPoolExecutor:
    """Returns the threads, which live as long as the process; there must be helpers."""
    return ThreadPoolExecutor(HELPERS, thread_name_prefix="tsim-helper")


def begun(work: Callable[[], Made], turns: int) -> Callable[[], Made]:
    """Lets a helper begin some work on a thread of so many turns, if that pays.

    Args:
        work: Changes nothing that anybody else uses, and asks for no helpers.
        turns: The length of the thread.

    Returns:
        What waits for the result, or does the work if no helper has begun it.
    """
    if not HELPERS or turns < MANY:
        return work
    job = pool().submit(work)
    return lambda: work() if job.cancel() else job.result()
