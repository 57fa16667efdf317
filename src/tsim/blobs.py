"""A content-addressed cache on disk, shared by threads and processes.

A key is a hash of everything that determines the value; each value is stored with a checksum. Lost
or damaged values are computed again, and a file that SQLite cannot read is set aside.
"""

import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from tsim import private
from tsim.errors import StoreError

BUSY_SECONDS = 60
# Milliseconds that emptying the log waits for readers.
EMPTY_MS = 250
LOOKUP = 500  # keys per statement, below SQLite's smallest limit on parameters
# What SQLite keeps beside a file, and would apply to a new one of the same name.
BESIDE = ("-wal", "-shm", "-journal")
# What has nothing to do with damage.
ELSEWHERE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
)

T = TypeVar("T")


class Blobs:
    """Bytes by key, in one table of a SQLite file."""

    def __init__(self, path: Path, table: str) -> None:
        """Opens the file, creating it if needed; an unreadable file is renamed.

        Raises:
            StoreError: The file cannot be used, though it is not damaged.
        """
        self.damaged = 0
        self._path = path
        self._table = table
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._do(lambda connection: None)

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Returns the values that are present and undamaged."""
        found: dict[bytes, bytes] = {}
        unique = list(dict.fromkeys(keys))
        for start in range(0, len(unique), LOOKUP):
            found |= self._do(partial(self._look_up, unique[start : start + LOOKUP]))
        return found

    def _look_up(self, keys: Sequence[bytes], connection: sqlite3.Connection) -> dict[bytes, bytes]:
        # Select by position: column names differ between files, their order does not.
        marks = ",".join("?" * len(keys))
        query = f"SELECT * FROM {self._table} WHERE key IN ({marks})"  # noqa: S608
        rows = connection.execute(query, keys).fetchall()
        whole = {
            key: blob
            for key, crc, blob in rows
            if isinstance(key, bytes) and isinstance(blob, bytes) and zlib.crc32(blob) == crc
        }
        self.damaged += len(rows) - len(whole)
        return whole

    def write(self, fresh: Mapping[bytes, bytes]) -> None:
        """Stores values, replacing existing ones."""
        rows = [(key, zlib.crc32(blob), blob) for key, blob in fresh.items()]
        statement = f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?, ?)"  # noqa: S608
        self._do(lambda connection: connection.executemany(statement, rows))

    def remove(self, values: Sequence[bytes]) -> bool:
        """Removes values, under whatever keys they are, and erases their bytes.

        Returns:
            False if others were using the file, so that the bytes may still be in its log.
        """
        wanted = {*values}
        keys = [
            key
            for key, value in self._do(partial(self._alike, sorted(map(zlib.crc32, wanted))))
            if value in wanted
        ]
        if not keys:
            return True
        statement = f"DELETE FROM {self._table} WHERE key = ?"  # noqa: S608
        self._do(lambda connection: connection.executemany(statement, [(key,) for key in keys]))
        return self._do(_erase)

    def _alike(
        self, sums: Sequence[int], connection: sqlite3.Connection
    ) -> list[tuple[bytes, bytes]]:
        """Returns keys and values with the given checksums; reads the whole file."""
        known = {*sums}
        rows = connection.execute(f"SELECT * FROM {self._table}")  # noqa: S608
        return [(key, value) for key, crc, value in rows if crc in known]

    def close(self) -> None:
        """Closes the file."""
        if self._connection:
            self._connection.close()

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Works in a transaction; on a new file, if the present one is damaged."""
        with self._lock:
            for again in (True, False):
                try:
                    connection = self._connection or self._open()
                    with connection:
                        return work(connection)
                except (sqlite3.Error, UnicodeDecodeError, ValueError) as error:
                    code = getattr(error, "sqlite_errorcode", None)
                    closed = isinstance(error, sqlite3.ProgrammingError)
                    if closed or not again or (code is not None and code & 0xFF in ELSEWHERE):
                        raise StoreError(
                            f"the cache in {self._path} cannot be used ({error}); check the "
                            "permissions and the space there, or remove it with: tsim cache clear"
                        ) from error
                    self._set_aside()
            raise AssertionError

    def _open(self) -> sqlite3.Connection:
        self._connection = _connect(self._path, self._table)
        about = self._path.stat()
        self._file = (about.st_dev, about.st_ino)
        # Closes the file even if the caller does not.
        weakref.finalize(self, self._connection.close)
        return self._connection

    def _set_aside(self) -> None:
        """Renames a damaged file, unless another process has done so already."""
        self.damaged += 1
        if self._connection:
            self._connection.close()
            self._connection = None
        with suppress(OSError):
            about = self._path.stat()
            if self._file in (None, (about.st_dev, about.st_ino)):
                self._path.replace(self._path.with_suffix(self._path.suffix + ".damaged"))
                for suffix in BESIDE:
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _connect(path: Path, table: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        private.create(path), timeout=BUSY_SECONDS, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA secure_delete=ON")
        with connection:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {table}"
                " (key BLOB PRIMARY KEY, crc INTEGER, value BLOB) WITHOUT ROWID"
            )
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _erase(connection: sqlite3.Connection) -> bool:
    """Rewrites the file, since split pages keep copies, and empties its log if nobody reads it."""
    connection.execute("VACUUM")
    connection.execute(f"PRAGMA busy_timeout = {EMPTY_MS}")
    ((busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS}")
    return not busy
