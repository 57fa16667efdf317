"""The default store: one SQLite file in WAL mode, one transaction per change."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tsim.errors import InputError, StoreBusyError, StoreError
from tsim.state import Changes, Counters
from tsim.store.agreement import Accepted, require
from tsim.store.current import CurrentReads
from tsim.store.protocol import Reader, Written
from tsim.store.sqlite.backup import place_copy
from tsim.store.sqlite.checksums import changed
from tsim.store.sqlite.database import DatabaseFile
from tsim.store.sqlite.reader import SCRUB, SqliteReader
from tsim.store.sqlite.readonly import ReadOnlyFile
from tsim.store.sqlite.writing import delete, note_scrub, write

BUSY_SECONDS = 30.0


class SqliteStore(CurrentReads):
    """Threads in one SQLite file. Readers and writers do not wait for each other."""

    def __init__(
        self, path: str | Path, *, busy_seconds: float = BUSY_SECONDS, read_only: bool = False
    ) -> None:
        """Opens the file, creating or migrating it if needed. Its directory must exist.

        Args:
            path: The file.
            busy_seconds: How long to wait for other writers, and, when scrubbing, for all readers.
            read_only: Write nothing, neither to the file, which must exist, nor beside it.

        Raises:
            StoreError: The file is not a memory file, or cannot be used.
        """
        kind = ReadOnlyFile if read_only else DatabaseFile
        self._file: DatabaseFile | ReadOnlyFile = kind(Path(path), busy_seconds=busy_seconds)

    @property
    def location(self) -> str:
        """The path of the file."""
        return str(self._file.path)

    @property
    def read_only(self) -> bool:
        """Whether the store refuses to write."""
        return self._file.read_only

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """Returns a reader of one state of the memory, unaffected by concurrent writes."""
        with self._file.reading() as connection:
            reader = SqliteReader(connection, self.location)
            try:
                yield reader
            finally:
                reader.end()

    def note(self, settings: Mapping[str, str]) -> None:
        """Records settings of the memory; settings that exist keep their values."""
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
        """Writes changes durably and atomically, if the thread still has the expected version."""
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
                    f"the memory in {self.location} already has thread {there[0]!r}; forget it "
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
        """Replaces all threads and settings atomically."""
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
        """Removes a thread and records that a scrub is due; returns whether it existed."""
        with self._file.writing() as connection:
            there = delete(connection, thread)
            if there:
                note_scrub(connection)
            return there

    def scrub(self) -> bool:
        """Erases removed content from the file.

        SQLite overwrites content as it is deleted, but unused space in pages that were split
        earlier may still contain old copies. Rewriting the file (VACUUM) drops those, and emptying
        the write-ahead log removes the remaining ones.
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
        """Returns whether removed content may still be recoverable."""
        with self._file.reading() as connection:
            return SqliteReader(connection, self.location).scrub_due()

    def check(self) -> list[str]:
        """Checks the file for damage, and every row for changed bytes; returns the problems."""
        try:
            problems = self._file.check()
        except StoreError as error:
            problems = [str(error)]
        with self._file.reading() as connection:
            return [*problems, *changed(connection)]

    def backup(self, path: Path, *, overwrite: bool = False) -> None:
        """Writes a copy of one state of the memory to a file, while others may write."""
        place_copy(self._file.path, path, self._file.copy, overwrite=overwrite)

    def close(self) -> None:
        """Closes the file; snapshots that are still open stay usable until they end."""
        self._file.close()
