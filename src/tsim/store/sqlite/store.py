"""The default store: one SQLite file in WAL mode, one transaction per change."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tsim.errors import InputError, StoreError
from tsim.state import Changes, Counters
from tsim.store.agreement import Accepted, require
from tsim.store.current import CurrentReads
from tsim.store.places import ALL, NEW
from tsim.store.protocol import Reader, Written
from tsim.store.sqlite import line
from tsim.store.sqlite.backup import place_copy
from tsim.store.sqlite.checksums import changed
from tsim.store.sqlite.database import ERASE_SECONDS, DatabaseFile
from tsim.store.sqlite.reader import SCRUB, SqliteReader
from tsim.store.sqlite.readonly import ReadOnlyFile
from tsim.store.sqlite.writing import delete, note_scrub, tick, write

BUSY_SECONDS = 30.0
# Turns that are written in a transaction with those of other threads; more take longer.
FEW = 4
# Seconds between two attempts to erase what could not be erased when it was removed.
RETRY_SECONDS = 1.0


class SqliteStore(CurrentReads):
    """Threads in one SQLite file. Readers and writers do not wait for each other."""

    def __init__(
        self,
        path: str | Path,
        *,
        busy_seconds: float = BUSY_SECONDS,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Opens the file, creating or migrating it if needed. Its directory must exist.

        Args:
            path: The file.
            busy_seconds: How long to wait for other writers.
            read_only: Write nothing, neither to the file, which must exist, nor beside it.
            clock: Returns the time in seconds since the epoch, the same in all processes.

        Raises:
            StoreError: The file is not a memory file, or cannot be used.
        """
        self._clock = clock
        self._cleared: str | None = None  # the removed content that is erased from all pages
        self._retry = 0.0
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
        begun = time.monotonic()
        with self._file.reading() as connection:
            reader = SqliteReader(connection, self.location)
            try:
                yield reader
            finally:
                reader.end()
        if time.monotonic() - begun > ERASE_SECONDS and not self.read_only:
            self._finish_scrub(self._due())  # it may have waited for this snapshot

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
        ticket: int | None = None,
    ) -> tuple[int, int] | None:
        """Writes changes durably and atomically, if the thread still has the expected version."""
        with self._file.writing(sharing=len(changes.turns) <= FEW) as connection:
            now = SqliteReader(connection, self.location)
            require(self.location, now.settings(), settings)
            if now.version(thread)[0] != expected:
                return None
            if not self._admits(connection, now.number(thread) or NEW, ticket):
                return None
            due = now.scrub_due()
            written = write(connection, thread, changes, counters)
        if not changes.removes:  # whoever removes scrubs next
            self._finish_scrub(due)
        return written

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
        ticket: int | None = None,
    ) -> bool:
        """Replaces all threads and settings atomically."""
        with self._file.writing() as connection:
            now = SqliteReader(connection, self.location)
            there = now.threads()
            if {name: now.version(name)[0] for name in there} != expected:
                return False
            if not self._admits(connection, ALL, ticket):
                return False
            for name in there:
                delete(connection, name)
            connection.execute("DELETE FROM setting WHERE name <> ?", (SCRUB,))
            connection.executemany("INSERT INTO setting VALUES (?, ?)", sorted(settings.items()))
            for name, (changes, counters) in threads.items():
                write(connection, name, changes, counters)
            return True

    def line_up(self, thread: str | None, *, seconds: float) -> int:
        """Puts a writer in line for a thread, or for all threads; returns its ticket."""
        with self._file.writing() as connection:
            reader = SqliteReader(connection, self.location)
            number = ALL if thread is None else reader.number(thread) or NEW
            now = self._clock()
            return line.join(connection, number, now=now, until=now + seconds)

    def first_in_line(self, ticket: int, *, seconds: float) -> bool:
        """Returns whether it is a writer's turn, and keeps its place for some more seconds."""
        now = self._clock()
        with self._file.reading() as connection:
            found = line.place(connection, ticket)
            if found is None:
                return True  # it was away for so long that its place was given up
            number, until = found
            first = not line.others_first(connection, number, ticket, now=now)
        if first or until - now < seconds / 2:
            with self._file.writing() as connection:  # for which it may have waited
                line.keep(connection, ticket, until=self._clock() + seconds)
        return first

    def leave_line(self, ticket: int) -> None:
        """Gives up a place in line."""
        with self._file.writing() as connection:
            line.leave(connection, ticket)

    def _admits(self, connection: sqlite3.Connection, number: int, ticket: int | None) -> bool:
        """Returns whether a writer may write now, and takes it out of the line."""
        if line.others_first(connection, number, ticket, now=self._clock()):
            return False
        if ticket is not None:
            line.leave(connection, ticket)
        return True

    def remove(self, thread: str) -> bool:
        """Removes a thread and records that a scrub is due; returns whether it existed."""
        with self._file.writing() as connection:
            there = delete(connection, thread)
            if there:
                note_scrub(connection, tick(connection))
            return there

    def scrub(self) -> bool:
        """Erases removed content from the file and its log.

        SQLite overwrites content as it is deleted. What it left in the unused space of pages
        earlier is found and erased; then the log is emptied, for which all readers of former
        states must have ended.
        """
        return self._scrub(seconds=ERASE_SECONDS)

    def _scrub(self, *, seconds: float) -> bool:
        try:
            due = self._due()
            if due is None:
                return True
            if self._cleared != due:
                self._file.clear_pages()
                self._cleared = due
            if not self._file.empty_log(seconds=seconds):
                return False
            # Unless something else was removed meanwhile.
            with self._file.writing() as connection:
                connection.execute("DELETE FROM setting WHERE name = ? AND value = ?", (SCRUB, due))
            return self._due() is None
        except StoreError:
            return False  # the removal was written all the same; the disk may be full

    def _finish_scrub(self, due: str | None) -> None:
        """Tries to erase what could not be erased when it was removed, without waiting."""
        if due is None or self.read_only or time.monotonic() < self._retry:
            return
        self._scrub(seconds=0)
        self._retry = time.monotonic() + RETRY_SECONDS

    def scrub_due(self) -> bool:
        """Returns whether removed content may still be recoverable."""
        return self._due() is not None

    def _due(self) -> str | None:
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
        if not self.read_only:
            with suppress(StoreError):
                self._finish_scrub(self._due())
        self._file.close()
