"""A memory file as a SQLite database: opening, transactions, maintenance."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from tsim import private, unfinished
from tsim.errors import StoreError
from tsim.store.sqlite.failures import explain
from tsim.store.sqlite.migrate import known, migrate

# Pages in the write-ahead log before a checkpoint: fewer, larger checkpoints than the default.
CHECKPOINT_PAGES = 8000
# Idle connections kept for reuse: opening one takes longer than most reads.
IDLE = 8
# Milliseconds that emptying the log waits for readers.
SCRUB_MS = 250


class DatabaseFile:
    """One SQLite file in WAL mode, with one connection for writing and several for reading."""

    read_only = False

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        """Opens the file, creating or migrating it if needed. Its directory must exist.

        Args:
            path: The file.
            busy_seconds: How long to wait for other processes.

        Raises:
            StoreError: The file is not a memory file, or cannot be used.
        """
        self.path = path
        self._busy_seconds = busy_seconds
        self._writer_lock = threading.RLock()
        self._idle_lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        if str(path) == ":memory:":  # each connection would get its own database
            raise StoreError("expected a file, found ':memory:'; use a temporary file instead")
        if not path.parent.is_dir():
            raise StoreError(f"{path.parent} is not a directory; create it first")
        unfinished.sweep(path.parent)
        with suppress(OSError):  # SQLite gives the log the mode of the file, and explains failures
            private.create(path)
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
        """Yields a read-only connection in a transaction, which sees one state of the file."""
        with self._explained():
            connection = self._lend()
            try:
                connection.execute("BEGIN")
                yield connection
            except BaseException:
                # A cursor that was not read to its end keeps the state that it was reading.
                connection.close()
                raise
            self._take_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yields the connection for writing, in a transaction that commits or rolls back."""
        with self._writer_lock, self._explained():
            self._require_open()
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def check(self) -> list[str]:
        """Checks the file for damage; returns the problems found."""
        with self._writer_lock, self._explained():
            # PASSIVE does not wait for readers; pages left in the log are checked there.
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            found = self._writer.execute("PRAGMA integrity_check").fetchall()
        return [message for (message,) in found if message != "ok"]

    def rewrite(self) -> bool:
        """Rewrites the file and empties the log; returns False if readers still use the log."""
        with self._writer_lock, self._explained():
            self._writer.execute("VACUUM")
            # Every writer waits as long as this does: a reader that takes its time must not hold
            # them up. The caller tries again later.
            self._writer.execute(f"PRAGMA busy_timeout = {SCRUB_MS}")
            try:
                busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                self._writer.execute(f"PRAGMA busy_timeout = {round(1000 * self._busy_seconds)}")
        return not busy

    def copy(self, part: Path) -> None:
        """Copies one state of the file, without removed content, to an empty file."""
        self._require_open()
        with self._explained(), closing(self._connect()) as connection:
            connection.execute("VACUUM INTO ?", (str(part),))

    def close(self) -> None:
        """Closes all connections; those in use are closed when they are returned."""
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
                f"{self.path} is a database of another program (it contains "
                f"{min(map(str, tables))!r}); it was not changed; use another path"
            )
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA secure_delete = ON")
        execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        migrate(self._writer, known())

    def _lend(self) -> sqlite3.Connection:
        self._require_open()
        with self._idle_lock:
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} is closed; open it again")

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
        """Converts SQLite errors to `StoreError`."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explain(self.path, error) from error
