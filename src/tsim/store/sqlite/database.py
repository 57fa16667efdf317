"""A memory file as a database: opening, transactions, upkeep."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tsim.errors import StoreError
from tsim.store.sqlite.failures import explain
from tsim.store.sqlite.migrate import known, migrate

# Pages written ahead before they are moved into the file: fewer, larger moves than the default.
CHECKPOINT_PAGES = 8000
# Connections kept for later readers: opening one takes longer than most reads.
IDLE = 8


class DatabaseFile:
    """One SQLite file in write-ahead mode: one connection writes, others read beside it."""

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        """Opens the file, creating it or bringing it up to date; its directory must exist.

        Args:
            path: The file.
            busy_seconds: How long to wait for other processes.

        Raises:
            StoreError: The file is no memory, or cannot be used.
        """
        self.path = path
        self._busy_seconds = busy_seconds
        self._writer_lock = threading.RLock()
        self._idle_lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        if str(path) == ":memory:":  # each connection would see a database of its own
            raise StoreError("a memory is kept in a file, found ':memory:'; give a temporary file")
        if not path.parent.is_dir():
            raise StoreError(f"{path.parent} is not a directory; create it first")
        with self._explained():
            self._writer = self._connect()
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._writer.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection that sees one state of the file."""
        with self._explained():
            connection = self._lend()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                self._take_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lends the connection that writes: all or nothing."""
        with self._writer_lock, self._explained():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def check(self) -> list[str]:
        """Looks for damage in the file itself; returns what it found."""
        with self._writer_lock, self._explained():
            # Without waiting for readers: what cannot be moved into the file is checked in the log.
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            found = self._writer.execute("PRAGMA integrity_check").fetchall()
        return [message for (message,) in found if message != "ok"]

    def rewrite(self) -> bool:
        """Writes the file anew and empties the log; False while readers keep the log alive."""
        with self._writer_lock, self._explained():
            self._writer.execute("VACUUM")
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def close(self) -> None:
        """Closes all connections; one that is lent is closed when it comes back."""
        with self._idle_lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
        with self._writer_lock:
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )

    def _prepare(self) -> None:
        execute = self._writer.execute
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master")}
        if tables and "migration" not in tables:
            raise StoreError(
                f"{self.path} is a database of another program (it has {sorted(tables)[0]!r}); "
                "nothing was changed in it"
            )
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA secure_delete = ON")
        execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        migrate(self._writer, known())

    def _lend(self) -> sqlite3.Connection:
        with self._idle_lock:
            if self._closed:
                raise StoreError(f"{self.path} is closed; open it again")
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _take_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.DatabaseError:
            connection.close()
            raise
        with self._idle_lock:
            if not self._closed and len(self._idle) < IDLE:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns SQLite's errors into ours."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise explain(self.path, error) from error
