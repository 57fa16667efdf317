"""A file as a SQLite database: opening, transactions, maintenance."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from tsim import private, unfinished
from tsim.errors import StoreError
from tsim.store.sqlite.kind import MEMORY, Kind
from tsim.store.sqlite.leftovers import Leftovers
from tsim.store.sqlite.together import Together

# Pages in the write-ahead log before a checkpoint: fewer, larger checkpoints than the default.
CHECKPOINT_PAGES = 8000
# Idle connections kept for reuse: opening one takes longer than most reads.
IDLE = 8
# Seconds that erasing waits for readers, and between two attempts. Nobody is held up meanwhile.
ERASE_SECONDS, RETRY_SECONDS = 0.25, 0.01
# Attempts to write pages anew, each of which may divide others, before the file is rewritten.
ROUNDS = 4


class DatabaseFile:
    """One SQLite file in WAL mode, with one connection for writing and several for reading."""

    read_only = False

    def __init__(self, path: Path, *, busy_seconds: float, kind: Kind = MEMORY) -> None:
        """Opens the file, creating or migrating it if needed. Its directory must exist.

        Args:
            path: The file.
            busy_seconds: How long to wait for other processes.
            kind: What kind of file it is.

        Raises:
            StoreError: The file is of another kind, or cannot be used.
        """
        self.path = path
        self._names = (str(path), f"{path}-wal")
        self._kind = kind
        self._busy_seconds = busy_seconds
        self._idle_lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        if str(path) == ":memory:":  # each connection would get its own database
            raise StoreError("expected a file, found ':memory:'; use a temporary file instead")
        if not path.parent.is_dir():
            raise StoreError(f"{path.parent} is not a directory; create it first")
        kind.require(path)
        unfinished.sweep(path.parent)
        with suppress(OSError):  # SQLite gives the log the mode of the file, and explains failures
            private.create(path)
        with self._explained():
            self._writer = self._connect()
        self._together = Together(self._writer, self._require_open)
        try:
            with self._explained():
                self._prepare()
            self._identity = self._found()
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
    def writing(self, *, sharing: bool = False) -> Iterator[sqlite3.Connection]:
        """Yields the connection for writing, in a transaction that commits or rolls back.

        Args:
            sharing: Whether the transaction is so short that other threads may wait for it, and it
                for theirs, so that all of them reach the disk at once.
        """
        one = self._together.sharing() if sharing else self._together.transaction()
        with self._explained(), one as connection:
            yield connection

    def check(self) -> list[str]:
        """Checks the file for damage; returns the problems found."""
        with self.reading() as connection:  # not the writer's, so that nobody waits
            found = connection.execute("PRAGMA integrity_check").fetchall()
        return [message for (message,) in found if message != "ok"]

    def clear_pages(self) -> None:
        """Erases former content from pages, without rewriting the file if possible."""
        for _ in range(ROUNDS):
            with self.reading() as connection:
                found = Leftovers.of(connection)
            if found is None:
                break
            if not found:
                return
            with self.writing() as connection:
                found.erase(connection)
        with self._explained(), self._together.alone() as writer:
            self._require_open()
            writer.execute("VACUUM")

    def empty_log(self, *, seconds: float = ERASE_SECONDS) -> bool:
        """Empties the log; returns False if readers still use it after some seconds.

        An attempt that has to wait would keep all writers waiting, so none of them waits.
        """
        until = time.monotonic() + seconds
        while not self._emptied():
            if time.monotonic() >= until:
                return False
            time.sleep(RETRY_SECONDS)
        return True

    def _emptied(self) -> bool:
        with self._explained(), self._together.alone() as writer:
            self._require_open()
            writer.execute("PRAGMA busy_timeout = 0")
            try:
                # Most of the work is done by PASSIVE, during which others can write.
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                busy = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                writer.execute(f"PRAGMA busy_timeout = {round(1000 * self._busy_seconds)}")
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
        with self._together.alone() as writer:
            writer.close()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )

    def _prepare(self) -> None:
        execute = self._writer.execute
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA secure_delete = ON")
        execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        self._kind.migrate(self._writer)

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
        if self._found() != self._identity:
            # What is written now would go to a file without a name, and be lost when it is closed.
            raise StoreError(
                f"{self.path}, or its log, was deleted or replaced while it was open; nothing more "
                "is read from it or written to it; close it, put the file in place, without the "
                "log (-wal) of another one, and open it again"
            )

    def _found(self) -> list[tuple[int, int] | None]:
        """Returns which files are now where the file and its log should be."""
        out: list[tuple[int, int] | None] = []
        for name in self._names:
            try:
                found = os.stat(name)  # noqa: PTH116  # at each request: a third of Path.stat
            except OSError:
                out.append(None)
            else:
                out.append((found.st_dev, found.st_ino))
        return out

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
            raise self._kind.explain(self.path, error) from error
