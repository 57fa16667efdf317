"""Threads for what blocks: so many at a time, of which no sender gets all."""

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import TypeVar
from weakref import WeakValueDictionary

from tsim.errors import LimitError
from tsim.server.settings import Limits

T = TypeVar("T")


class Workers:
    """Runs functions in threads. A thread costs a request a fraction of what one of anyio does."""

    def __init__(self, limits: Limits) -> None:
        """Starts no thread yet.

        Args:
            limits: How many work at a time, and how many wait.
        """
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.workers, thread_name_prefix="tsim")
        self._all = _Seats(limits.workers)
        self._shares: WeakValueDictionary[Hashable, _Seats] = WeakValueDictionary()

    async def run(self, function: Callable[[], T], sender: Hashable) -> T:
        """Runs a function in a thread, in the context of the caller.

        Raises:
            LimitError: Too many others wait already.
        """
        share = self._shares.get(sender)
        if share is None:
            share = self._shares[sender] = _Seats(max(1, self._limits.workers * 3 // 4))
        if max(self._all.waiting, share.waiting) >= self._limits.waiting:
            raise LimitError("too many requests wait already; try again in a second")
        async with share, self._all:
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._threads, copy_context().run, function)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                # What was begun is finished, also if the client has gone.
                await asyncio.wait([running])
                raise


class _Seats:
    """So many at a time; the others wait in line.

    Attributes:
        waiting: How many wait.
    """

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)
        self.waiting = 0

    async def __aenter__(self) -> None:
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._free.release()
