"""A memory file as a database: opening, transactions, reading, upkeep."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tsim.errors import StoreError
from tsim.store.sqlite.failures import explain
from tsim.store.sqlite.migrate import known, migrate
from tsim.vectors import Vectors

BUSY_SECONDS = 30.0
# Pages written ahead before they are moved into the file: fewer, larger moves than the default.
CHECKPOINT_PAGES = 8000
READ = 500  # rows or ids a statement, below SQLite's smallest limit on parameters


class DatabaseFile:
    """One SQLite file in write-ahead mode; readers never wait for writers."""

    def __init__(self, path: Path) -> None:
        """Opens the file, creating it or bringing it up to date; its directory must exist.

        Raises:
            StoreError: The file is no memory, or cannot be used.
        """
        self.path = path
        self._lock = threading.RLock()
        if not path.parent.is_dir():
            raise StoreError(f"{path.parent} is not a directory; create it first")
        with self._explained():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    @property
    def location(self) -> str:
        """Names the file in messages."""
        return str(self.path)

    def snapshot(self) -> AbstractContextManager[None]:
        """Sees one state of the memory throughout, whatever others write meanwhile."""
        return self._reading()

    def check(self) -> list[str]:
        """Looks for damage in the file itself; returns what it found."""
        with self._lock, self._explained():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            found = self._rows("PRAGMA integrity_check")
        return [message for (message,) in found if message != "ok"]

    def close(self) -> None:
        """Lets go of the file."""
        with self._lock:
            self._connection.close()

    def _rewrite(self) -> bool:
        """Writes the file anew and empties the log; False while others keep the log alive."""
        with self._lock, self._explained():
            self._connection.execute("VACUUM")
            busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def _prepare(self) -> None:
        execute = self._connection.execute
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master")}
        if tables and "migration" not in tables:
            raise StoreError(
                f"{self.location} is a database of another program (it has {sorted(tables)[0]!r}); "
                "nothing was changed in it"
            )
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA secure_delete = ON")
        execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        migrate(self._connection, known())

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, self._explained():
            return self._connection.execute(query, values).fetchall()

    def _columns(
        self, table: str, query: str, bounds: tuple[int, int]
    ) -> tuple[list[int], Vectors, list[int]]:
        """Reads keys, vectors and a number, the vectors straight into their place in one matrix."""
        size = f"SELECT count(*) FROM {table} WHERE key BETWEEN ? AND ?"  # noqa: S608
        ((count,),) = self._rows(size, bounds)
        keys: list[int] = []
        numbers: list[int] = []
        vectors = np.empty((0, 0), dtype=np.float32)
        rows = self._connection.execute(query, bounds)
        while some := rows.fetchmany(READ):
            if not keys:
                vectors = np.empty((count, len(some[0][1]) // 4), dtype=np.float32)
            if {len(row[1]) for row in some} != {4 * vectors.shape[1]}:
                raise StoreError(
                    f"{self.location} holds vectors of different lengths: it is damaged; restore "
                    "it from an export, or rebuild it with: tsim doctor --rebuild"
                )
            block = np.frombuffer(b"".join(row[1] for row in some), dtype="<f4")
            vectors[len(keys) : len(keys) + len(some)] = block.reshape(len(some), -1)
            keys += [row[0] for row in some]
            numbers += [row[2] for row in some]
        return keys, vectors[: len(keys)], numbers

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Sees one state of the file throughout."""
        with self._lock, self._explained():
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Writes all or nothing."""
        with self._lock, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns SQLite's errors into ours."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise explain(self.location, error) from error
