"""A memory file that is only read: nothing is written, neither to the file nor beside it.

SQLite offers two ways to read a file in WAL mode without writing, and each has a trap:

- `mode=ro` follows the write-ahead log, but needs its index (the file `-shm`). Where there is none,
  SQLite creates it, and fails if the directory cannot be written.
- `immutable=1` needs no other file, but ignores the log, and with it whatever is only there, and
  does not notice writers.

So a snapshot uses `immutable=1` if the log is absent or empty, and checks at its end that the file
has not changed meanwhile; otherwise it uses `mode=ro`.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from tsim.errors import StoreBusyError, StoreError, StoreReadOnlyError
from tsim.store.sqlite.failures import explain
from tsim.store.sqlite.migrate import known, require_current
from tsim.store.sqlite.recognise import require_ours

# Size, time of the last change, and inode of a file: other values mean other content.
Stamp = tuple[int, int, int]


class ReadOnlyFile:
    """One SQLite file that is only read. Every snapshot has a connection of its own."""

    read_only = True

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        """Opens the file, which must exist and have the current schema.

        Args:
            path: The file.
            busy_seconds: How long to wait for writers.

        Raises:
            StoreError: The file is missing, is not a memory file, or cannot be read.
        """
        self.path = path
        self._busy_seconds = busy_seconds
        self._closed = False
        if not path.is_file():
            raise StoreError(f"{path} does not exist or is not a file; it cannot be opened to read")
        # Opening the file to see would end the locks that other connections of this process have.
        if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise StoreError(f"{path} cannot be read; check its permissions")
        require_ours(path)
        with self.reading() as connection:
            require_current(path, connection, known())

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yields a read-only connection in a transaction, which sees one state of the file."""
        with self._connected() as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield connection

    def writing(self, *, sharing: bool = False) -> AbstractContextManager[sqlite3.Connection]:
        """Raises an error, since nothing is written."""
        raise StoreReadOnlyError(
            f"{self.path} was opened read-only, so nothing can be added, forgotten, imported or "
            "rebuilt; open it without read_only=True"
        )

    def check(self) -> list[str]:
        """Checks the file for damage; returns the problems found."""
        with self.reading() as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
        return [message for (message,) in found if message != "ok"]

    def clear_pages(self) -> None:
        """Raises an error, since nothing is written."""
        self.writing()

    def empty_log(self, *, seconds: float = 0) -> bool:
        """Returns False, since nothing is written."""
        return False

    def copy(self, part: Path) -> None:
        """Copies one state of the file, without removed content, to an empty file."""
        with self._connected() as connection:
            connection.execute("VACUUM INTO ?", (str(part),))

    def close(self) -> None:
        """Refuses further snapshots; those in use stay usable until they end."""
        self._closed = True

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if self._closed:
            raise StoreError(f"{self.path} is closed; open it again")
        before = None if self._logged() else self._stamp()
        try:
            with closing(self._connect(immutable=before is not None)) as connection:
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._require_unchanged(before)
            raise self._explained(error) from error
        self._require_unchanged(before)

    def _connect(self, *, immutable: bool) -> sqlite3.Connection:
        options = "mode=ro&immutable=1" if immutable else "mode=ro"
        return sqlite3.connect(
            f"file:{quote(str(self.path.absolute()))}?{options}",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )

    def _logged(self) -> bool:
        """Returns whether the write-ahead log has content."""
        log = self._beside("-wal")
        return log.is_file() and log.stat().st_size > 0

    def _stamp(self) -> Stamp:
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino

    def _require_unchanged(self, before: Stamp | None) -> None:
        if before is not None and self._stamp() != before:
            raise StoreBusyError(f"{self.path} was changed while it was read; try again")

    def _explained(self, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
        if self._logged() and not self._beside("-shm").exists():
            return StoreReadOnlyError(
                f"{self.path} has a write-ahead log that cannot be read without writing beside it "
                f"({error}); copy {self.path.name} and {self.path.name}-wal to a directory that "
                "you may write, and open the copy"
            )
        return explain(self.path, error)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)
