"""A content-addressed cache on disk, shared by threads and processes.

A key is a hash of everything that determines the value; each value is stored with a checksum. Lost
or damaged values are computed again.
"""

import sqlite3
import threading
import weakref
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tsim import private

BUSY_SECONDS = 60
LOOKUP = 500  # keys per statement, below SQLite's smallest limit on parameters


class Blobs:
    """Bytes by key, in one table of a SQLite file."""

    def __init__(self, path: Path, table: str) -> None:
        """Opens the file, creating it if needed; an unreadable file is renamed."""
        self.damaged = 0
        self._table = table
        self._lock = threading.Lock()
        try:
            self._connection = _connect(path, table)
        except sqlite3.DatabaseError:
            # A cache can be rebuilt, so a file that is not a database is renamed.
            path.replace(path.with_suffix(path.suffix + ".damaged"))
            self._connection = _connect(path, table)
        # Closes the file even if the caller does not.
        weakref.finalize(self, self._connection.close)

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Returns the values that are present and undamaged."""
        found: dict[bytes, bytes] = {}
        unique = list(dict.fromkeys(keys))
        for start in range(0, len(unique), LOOKUP):
            some = unique[start : start + LOOKUP]
            marks = ",".join("?" * len(some))
            # Select by position: column names differ between files, their order does not.
            query = f"SELECT * FROM {self._table} WHERE key IN ({marks})"  # noqa: S608
            with self._lock:
                rows = self._connection.execute(query, some).fetchall()
            whole = {key: blob for key, crc, blob in rows if zlib.crc32(blob) == crc}
            self.damaged += len(rows) - len(whole)
            found.update(whole)
        return found

    def write(self, fresh: Mapping[bytes, bytes]) -> None:
        """Stores values, replacing existing ones."""
        rows = [(key, zlib.crc32(blob), blob) for key, blob in fresh.items()]
        statement = f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?, ?)"  # noqa: S608
        with self._lock, self._connection:
            self._connection.executemany(statement, rows)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


def _connect(path: Path, table: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        private.create(path), timeout=BUSY_SECONDS, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        with connection:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {table}"
                " (key BLOB PRIMARY KEY, crc INTEGER, value BLOB) WITHOUT ROWID"
            )
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection
