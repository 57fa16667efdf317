"""Writers of one memory that meet: whoever loses too often goes first.

Changes are prepared without a lock and written if nobody else wrote meanwhile. A writer that is
slower than the others could lose this race for ever. After a few losses it lines up, and the others
write nothing until it has, or until its turn is over.

A place in line is kept for a second and renewed by its writer, so that nobody waits long for one
that died. Whoever renews too late is passed over, which costs nothing but its place.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

import numpy as np

from tsim.embed import Embedder
from tsim.errors import StoreError
from tsim.store import Store
from tsim.vectors import Vector, Vectors

# Races that a writer loses before it lines up.
PATIENCE = 3
# Seconds for which the others wait for a writer, unless it once needed longer.
TURN_SECONDS = 5.0
# Seconds for which a place in line is kept unless it is renewed, and between two renewals.
PLACE_SECONDS, RENEW_SECONDS = 1.0, 0.3
# Seconds between two looks at the line.
LOOK_SECONDS = 0.01


class Turns:
    """A writer's way to a thread, or to all threads, of a memory that others write to as well."""

    def __init__(
        self,
        store: Store,
        thread: str | None,
        *,
        patience: int = PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begins outside the line.

        Args:
            store: The memory.
            thread: The thread to write to; None for all.
            patience: Races to lose before lining up.
            sleep: Waits for some seconds.
        """
        self.ticket: int | None = None
        self._store = store
        self._thread = thread
        self._patience = patience
        self._sleep = sleep
        self._seconds = TURN_SECONDS
        self._over = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self.ticket is not None:  # nothing was written; nobody should wait any longer
            with suppress(StoreError):  # the place is given up after some seconds anyway
                self._store.leave_line(self.ticket)

    def won(self) -> None:
        """Notes that the change was written, which uses the ticket up."""
        self._over.set()
        self.ticket = None

    def lost(self) -> None:
        """Notes that others wrote first; returns when it makes sense to try again."""
        self._over.set()
        self._patience -= 1
        if self._patience > 0:
            return
        if self.ticket is not None:  # its turn was not long enough, or its place was given up
            self._store.leave_line(self.ticket)
            self._seconds *= 2
        self.ticket = self._store.line_up(self._thread, seconds=PLACE_SECONDS)
        while not self._store.first_in_line(self.ticket, seconds=PLACE_SECONDS):
            self._sleep(LOOK_SECONDS)
        self._over = threading.Event()
        keeping = threading.Thread(
            target=keep_place,
            args=(self._store, self.ticket),
            kwargs={"seconds": self._seconds, "over": self._over.wait},
            daemon=True,
        )
        with suppress(RuntimeError):  # no more threads can be had: its turn is short
            keeping.start()


def keep_place(store: Store, ticket: int, *, seconds: float, over: Callable[[float], bool]) -> None:
    """Keeps a writer's place in line while it prepares its change, for some seconds at most.

    Args:
        store: The memory.
        ticket: The writer's ticket.
        seconds: How long its turn may be.
        over: Waits for some seconds; returns whether its turn was over before.
    """
    for _ in range(round(seconds / RENEW_SECONDS)):
        if over(RENEW_SECONDS):
            return
        with suppress(StoreError):  # busy or closed
            store.first_in_line(ticket, seconds=PLACE_SECONDS)


class Remembering:
    """An embedder that embeds no text twice, for changes that may have to be prepared again."""

    def __init__(self, inner: Embedder) -> None:
        """Begins without vectors."""
        self.inner = inner
        self._known: dict[str, Vector] = {}

    @property
    def identity(self) -> str:
        """The inner embedder's identity."""
        return self.inner.identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages, those that are not known."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, self.inner.embed(missing), strict=True))
        rows = [self._known[text] for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query."""
        return self.inner.embed_query(text)


class FairLock:
    """A lock that threads get in the order in which they ask for it; may be taken again.

    The locks of Python are taken by whoever comes first when they become free, which may keep
    those out who wait: a thread that searches without pause kept others from adding.
    """

    def __init__(self) -> None:
        """Begins free."""
        self._guard = threading.Lock()
        self._owner: int | None = None
        self._depth = 0
        self._waiting: list[tuple[int, threading.Lock]] = []

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._guard:
            if self._owner in (None, me):
                self._owner = me
                self._depth += 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append((me, turn))
        try:
            turn.acquire()
        except BaseException:  # interrupted: nobody may hand the lock to a thread that left
            with self._guard:
                gone = (me, turn) in self._waiting
                if gone:
                    self._waiting.remove((me, turn))
            if not gone:
                self._release()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release()

    @contextmanager
    def if_free(self) -> Iterator[bool]:
        """Takes the lock unless anybody has it, this thread included; yields whether it did."""
        with self._guard:
            free = self._owner is None
            if free:
                self._owner, self._depth = threading.get_ident(), 1
        try:
            yield free
        finally:
            if free:
                self._release()

    def _release(self) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth:
                return
            if not self._waiting:
                self._owner = None
                return
            self._owner, turn = self._waiting.pop(0)
            self._depth = 1
            turn.release()
