"""Writes to memories behind everybody's back: one after another for each conversation.

Writing embeds, and embedding takes all cores. So requests that ask a memory go first: a write
begins when none of them does, and a moment after its answer has ended, since programs that call
tools send the next request at once. Then it goes on while the other server thinks. It waits no
longer than `PATIENCE`, and not at all if a request waits for it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from anyio import CapacityLimiter, to_thread

from tsim.errors import TsimError

log = logging.getLogger("tsim.proxy")

# Conversations that are written to at a time.
WRITERS = 2
# Bytes of requests and answers that wait to be written; what does not fit comes again with the next
# request of its conversation.
WAITING = 256 << 20
# Seconds that a write leaves to requests that may follow, and that it lets requests go first.
MOMENT, PATIENCE = 0.05, 0.5
# Seconds between two looks whether it may begin.
LOOK = 0.005
# How long a proxy that stops goes on writing, after the last answer has ended.
DRAIN_SECONDS = 30.0


class Keeper:
    """What is to be written, in order, and what became of it."""

    def __init__(self, *, waiting: int = WAITING) -> None:
        """Has nothing to write yet.

        Args:
            waiting: Bytes that may wait to be written.
        """
        self._room = waiting
        self._writers: CapacityLimiter | None = None
        self._last: dict[Hashable, asyncio.Task[None]] = {}
        self._failed: dict[Hashable, str] = {}
        self._expected = 0
        self._asking = 0
        self._needed: set[Hashable] = set()
        self._draining = False

    def keep(self, where: Hashable, write: Callable[[], None], size: int) -> None:
        """Writes something after everything else of its conversation; returns at once.

        Args:
            where: The conversation.
            write: Writes, and blocks meanwhile.
            size: About how many bytes of RAM this holds until then.
        """
        if size > self._room:
            log.warning("a conversation is not written: too much waits already")
            self._failed[where] = "over_limit"
            return
        self._room -= size
        before = self._last.get(where)
        self._last[where] = asyncio.create_task(self._write(where, before, write, size))

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Says that something may have to be written at the end of the block."""
        self._expected += 1
        try:
            yield
        finally:
            self._expected -= 1

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Says that a request asks a memory in the block, before which no write should begin."""
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    def pending(self, where: Hashable) -> bool:
        """Returns whether something of a conversation is still to be written."""
        return where in self._last

    async def settled(self, where: Hashable, seconds: float) -> bool:
        """Waits until all of a conversation is written; returns whether it is."""
        last = self._last.get(where)
        if last is None:
            return True
        self._needed.add(where)
        done, _ = await asyncio.wait({last}, timeout=max(0.0, seconds))
        return bool(done)

    def failure(self, where: Hashable) -> str:
        """Returns why the last write of a conversation failed; empty if it did not."""
        return self._failed.get(where, "")

    async def drain(self, seconds: float) -> bool:
        """Waits until everything is written, but no longer than this; returns whether it is."""
        self._draining = True
        try:
            async with asyncio.timeout(seconds):
                while self._expected or self._last:
                    if self._last:
                        await asyncio.wait({*self._last.values()}, timeout=0.05)
                    else:
                        await asyncio.sleep(0.01)
        except TimeoutError:
            log.warning("%d conversations are not written completely", len(self._last))
            return False
        return True

    async def _write(
        self,
        where: Hashable,
        before: asyncio.Task[None] | None,
        write: Callable[[], None],
        size: int,
    ) -> None:
        if self._writers is None:
            self._writers = CapacityLimiter(WRITERS)
        try:
            if before is not None:
                await asyncio.wait({before})
            await self._let_others_go_first(where)
            await to_thread.run_sync(write, limiter=self._writers)
            self._failed.pop(where, None)
        except Exception as error:  # noqa: BLE001  # whatever it is, the next request goes on
            self._failed[where] = kind_of(error)
            report("a conversation is not written", error)
        finally:
            self._room += size
            if self._last.get(where) is asyncio.current_task():
                del self._last[where]
                self._needed.discard(where)

    async def _let_others_go_first(self, where: Hashable) -> None:
        begun = time.monotonic()
        while not (self._draining or where in self._needed):
            waited = time.monotonic() - begun
            if waited >= PATIENCE or (waited >= MOMENT and not self._asking):
                return
            await asyncio.sleep(LOOK)


def kind_of(error: BaseException) -> str:
    """Returns the kind of an error, as answers name it."""
    return error.kind if isinstance(error, TsimError) else "unexpected"


def report(what: str, error: Exception) -> None:
    """Logs why a memory could not be used; where it happened, too, if nobody expected it."""
    expected = isinstance(error, TsimError)
    log.warning("%s: %s", what, error, exc_info=None if expected else error)
