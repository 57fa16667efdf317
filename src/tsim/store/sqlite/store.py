"""The default store: one SQLite file, written ahead, one transaction for each change."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tsim.errors import InputError, StoreBusyError
from tsim.state import Changes, Counters
from tsim.store.agreement import Accepted, require
from tsim.store.current import CurrentReads
from tsim.store.protocol import Reader, Written
from tsim.store.sqlite.database import DatabaseFile
from tsim.store.sqlite.reader import SCRUB, SqliteReader
from tsim.store.sqlite.writing import delete, note_scrub, write

BUSY_SECONDS = 30.0


class SqliteStore(CurrentReads):
    """Threads in one file; readers never wait for writers, nor writers for readers."""

    def __init__(self, path: str | Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        """Opens the file, creating it or bringing it up to date; its directory must exist.

        Args:
            path: The file.
            busy_seconds: How long to wait for other processes that write, and, when removed
                content is scrubbed, for all that read.

        Raises:
            StoreError: The file is no memory, or cannot be used.
        """
        self._file = DatabaseFile(Path(path), busy_seconds=busy_seconds)

    @property
    def location(self) -> str:
        """Names the file in messages."""
        return str(self._file.path)

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """Lends a reader that sees one state of the memory, whatever is written meanwhile."""
        with self._file.reading() as connection:
            reader = SqliteReader(connection, self.location)
            try:
                yield reader
            finally:
                reader.end()

    def note(self, settings: Mapping[str, str]) -> None:
        """Notes something about the memory as a whole, unless it is noted already."""
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO setting VALUES (?, ?)", sorted(settings.items())
            )

    def commit(
        self,
        thread: str,
        changes: Changes,
        counters: Counters,
        *,
        expected: int,
        settings: Accepted,
    ) -> tuple[int, int] | None:
        """Writes changes, durably and whole, if the thread still has the expected version."""
        with self._file.writing() as connection:
            now = SqliteReader(connection, self.location)
            require(self.location, now.settings(), settings)
            if now.version(thread)[0] != expected:
                return None
            return write(connection, thread, changes, counters)

    def add_threads(self, threads: Mapping[str, Written], *, settings: Accepted) -> None:
        """Writes new threads, all or none."""
        with self._file.writing() as connection:
            now = SqliteReader(connection, self.location)
            require(self.location, now.settings(), settings)
            there = sorted({*threads} & {*now.threads()})
            if there:
                raise InputError(
                    f"the memory in {self.location} has thread {there[0]!r} already; forget it "
                    "first, or import into a new memory"
                )
            for name, (changes, counters) in threads.items():
                write(connection, name, changes, counters)

    def replace_all(
        self,
        threads: Mapping[str, Written],
        settings: Mapping[str, str],
        *,
        expected: Mapping[str, int],
    ) -> bool:
        """Puts new contents in the place of all threads and settings, whole or not at all."""
        with self._file.writing() as connection:
            now = SqliteReader(connection, self.location)
            there = now.threads()
            if {name: now.version(name)[0] for name in there} != expected:
                return False
            for name in there:
                delete(connection, name)
            connection.execute("DELETE FROM setting WHERE name <> ?", (SCRUB,))
            connection.executemany("INSERT INTO setting VALUES (?, ?)", sorted(settings.items()))
            for name, (changes, counters) in threads.items():
                write(connection, name, changes, counters)
            return True

    def remove(self, thread: str) -> bool:
        """Removes a thread and notes that a scrub is due; tells whether it was there."""
        with self._file.writing() as connection:
            there = delete(connection, thread)
            if there:
                note_scrub(connection)
            return there

    def scrub(self) -> bool:
        """Makes sure that nothing removed can be read back from the file.

        Removed content is overwritten as it is deleted, but pages that were split long ago may
        hold old copies in their slack. Writing the file anew leaves those behind; emptying the
        write-ahead log removes the last ones.
        """
        try:
            if not self._file.rewrite():
                return False
        except StoreBusyError:
            return False
        with self._file.writing() as connection:
            connection.execute("DELETE FROM setting WHERE name = ?", (SCRUB,))
        return True

    def scrub_due(self) -> bool:
        """Tells whether something removed may still be readable."""
        with self._file.reading() as connection:
            return SqliteReader(connection, self.location).scrub_due()

    def check(self) -> list[str]:
        """Looks for damage in the file itself; returns what it found."""
        return self._file.check()

    def close(self) -> None:
        """Closes the file; snapshots that are still open keep theirs until they end."""
        self._file.close()
