"""Connections to one database, lent to one user at a time.

Connections are made by whoever needs one and finds none idle, so that what is wrong with the server
is said where it matters, and no thread runs beside. A connection that ended while it was idle is
noticed without asking the server: something can be read from it, and be it the end.
"""

import logging
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus

from tsim.errors import StoreBusyError, StoreError

# psycopg would print that, about connections of which we say ourselves that they have ended.
SAID = "error ignored terminating"
logging.getLogger("psycopg").addFilter(lambda record: not str(record.msg).startswith(SAID))

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


class Pool:
    """At most so many connections, kept for reuse."""

    def __init__(
        self, connect: Callable[[], Connection], *, size: int, seconds: float, place: str
    ) -> None:
        """Connects to nothing yet.

        Args:
            connect: Makes a connection.
            size: Connections in use at the same time, at most.
            seconds: How long to wait for one.
            place: The database, for messages.
        """
        self._connect = connect
        self._seconds = seconds
        self._size = size
        self._place = place
        self._free = threading.BoundedSemaphore(size)
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """Yields a connection outside of transactions; it must be returned like that.

        Raises:
            StoreBusyError: All connections are in use for too long.
            StoreError: The pool is closed.
        """
        self._require_open()
        if not self._free.acquire(timeout=self._seconds):
            raise StoreBusyError(
                f"all {self._size} connections to {self._place} were in use for "
                f"{self._seconds:g} s; try again later, or allow more (pool_size)"
            )
        try:
            connection = self._take() or self._connect()
            try:
                yield connection
            finally:
                self._put(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Closes what is idle; connections in use are closed when they are returned."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self._place} is closed; open it again")

    def _take(self) -> Connection | None:
        while True:
            with self._guard:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if not _has_ended(connection):
                return connection
            connection.close()

    def _put(self, connection: Connection) -> None:
        sound = connection.info.transaction_status == TransactionStatus.IDLE
        with self._guard:
            if sound and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def _has_ended(connection: Connection) -> bool:
    if connection.closed:
        return True
    looking = select.poll()
    looking.register(connection.fileno(), select.POLLIN)
    return bool(looking.poll(0))
