"""Small transactions of several threads, which reach the disk together.

What takes longest of a small transaction is to wait for the disk. Threads that come while another
one waits for it, or before one that is done has begun to, write in the same transaction, and all of
them go on when it is on the disk. A thread that is alone waits for nobody.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# Seconds after which whoever waits looks whether those it waits for have given up.
LOOK_SECONDS = 0.1


class _Group:
    """Those who write in one transaction."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.error: sqlite3.Error | None = None


class Together:
    """The connection for writing, for one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, require: Callable[[], None]) -> None:
        """Takes a connection that nobody else uses.

        Args:
            connection: The connection.
            require: Called before every transaction; raises an error if nothing may be written.
        """
        self._connection = connection
        self._require = require
        self._lock = threading.RLock()
        self._guard = threading.Lock()
        self._coming = 0
        self._group: _Group | None = None

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Yields the connection, outside of transactions."""
        with self._lock:
            self._commit()
            yield self._connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yields the connection in a transaction that commits or rolls back."""
        with self.alone() as connection:
            self._require()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def sharing(self) -> Iterator[sqlite3.Connection]:
        """Yields the connection in a transaction that others may write in as well.

        What this thread does is committed or rolled back as if it were alone. It is on the disk
        when the context ends.
        """
        with self._next():
            self._require()
            group, first = self._joined()
            try:
                yield self._connection
                if not first:
                    self._connection.execute("RELEASE own")
            except BaseException as error:
                self._take_back(error, first=first)
                raise
            finally:
                if not self._coming:
                    self._commit()
        while not group.ended.wait(LOOK_SECONDS):
            with self._lock:
                if self._group is group:
                    self._commit()
        if group.error is not None:
            raise group.error

    @contextmanager
    def _next(self) -> Iterator[None]:
        """Waits for the connection; until then, whoever has it leaves its transaction open."""
        self._count(1)
        waits = True
        try:
            with self._lock:
                self._count(-1)
                waits = False
                yield
        finally:
            if waits:
                self._count(-1)

    def _count(self, more: int) -> None:
        with self._guard:
            self._coming += more

    def _joined(self) -> tuple[_Group, bool]:
        """Begins a transaction, or joins the one that has begun; returns whether it is new."""
        if self._group is None:
            self._connection.execute("BEGIN IMMEDIATE")
            self._group = _Group()
            return self._group, True
        self._connection.execute("SAVEPOINT own")
        return self._group, False

    def _take_back(self, reason: BaseException, *, first: bool) -> None:
        """Rolls back what one thread did, or everything if that cannot be done."""
        if not first and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK TO own")
                self._connection.execute("RELEASE own")
            except sqlite3.Error as error:
                reason = error
            else:
                return
        if not isinstance(reason, sqlite3.Error):
            reason = sqlite3.OperationalError("interrupted")
        self._end(reason)

    def _commit(self) -> None:
        if self._group is None:
            return
        error = None
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as found:
            error = found
        finally:
            if self._connection.in_transaction and error is None:
                error = sqlite3.OperationalError("interrupted")
            self._end(error)

    def _end(self, error: sqlite3.Error | None) -> None:
        """Lets all who wait for the transaction go on."""
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        group, self._group = self._group, None
        if group is not None:
            group.error = error
            group.ended.set()
