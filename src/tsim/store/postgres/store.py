"""Memories in a Postgres database: one namespace of it, one transaction per change."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tsim.errors import InputError
from tsim.state import Changes, Counters
from tsim.store.agreement import Accepted, require
from tsim.store.current import CurrentReads
from tsim.store.postgres import line
from tsim.store.postgres.address import Address
from tsim.store.postgres.checking import problems
from tsim.store.postgres.erasing import due, erase
from tsim.store.postgres.reader import (
    SETTINGS,
    PostgresReader,
    head_of,
    head_query,
    settings_of,
)
from tsim.store.postgres.transactions import (
    Outcome,
    Rows,
    Statement,
    Transaction,
    Transactions,
)
from tsim.store.postgres.writing import (
    FORMER,
    add_thread,
    advance,
    note_scrub,
    remove_rows,
    set_settings,
    write_rows,
)
from tsim.store.protocol import Reader, Written

T = TypeVar("T")


class PostgresStore(CurrentReads):
    """The threads of one namespace. Readers and writers do not wait for each other."""

    def __init__(
        self,
        transactions: Transactions,
        *,
        namespace: str,
        place: str,
        vector_type: int,
        read_only: bool = False,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Reads nothing yet; `PostgresDatabase.store` makes one.

        Args:
            transactions: Transactions of the database.
            namespace: The namespace.
            place: The address of the database, without password.
            vector_type: The number of the type of vectors.
            read_only: Whether nothing may be written.
            close: Called when the store is closed.
        """
        self._transactions = transactions
        self._namespace = namespace
        self._location = f"{place}#{namespace}"
        self._vector_type = vector_type
        self._read_only = read_only
        self._close = close

    @classmethod
    def open(cls, url: str, *, read_only: bool = False) -> "PostgresStore":
        """Opens the memory at an address, whose fragment is the namespace.

        It has connections of its own, which are closed with it.

        Args:
            url: The address, `postgresql://user@host/database#namespace`.
            read_only: Write nothing; the schema must be there.

        Raises:
            InputError: The address cannot be read.
            StoreError: The database cannot be reached or used.
        """
        from tsim.store.postgres.database import PostgresDatabase  # which makes stores

        namespace = Address.parse(url).namespace
        database = PostgresDatabase(url, read_only=read_only)
        return database.store(namespace, close=database.close)

    @property
    def location(self) -> str:
        """The address of the memory, without password."""
        return self._location

    @property
    def read_only(self) -> bool:
        """Whether the store refuses to write."""
        return self._read_only

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        """Returns a reader of one state of the memory, unaffected by concurrent writes."""
        with self._transactions.reading(self._namespace, self.location) as transaction:
            reader = PostgresReader(
                transaction,
                namespace=self._namespace,
                location=self.location,
                vector_type=self._vector_type,
            )
            try:
                yield reader
            finally:
                reader.end()

    def version(self, thread: str) -> tuple[int, int]:
        """Returns the version and epoch of a thread, or (0, 0) if it does not exist."""
        if "\0" in thread:
            return 0, 0
        (rows,) = self._read(head_query(self._namespace, thread))
        head = head_of(rows)
        return (head.version, head.epoch) if head else (0, 0)

    def settings(self) -> dict[str, str]:
        """Returns the settings of the memory."""
        (rows,) = self._read((SETTINGS, (self._namespace,)))
        return settings_of(rows)

    def note(self, settings: Mapping[str, str]) -> None:
        """Records settings of the memory; settings that exist keep their values."""
        noted = set_settings(self._namespace, dict(settings), keep=True)

        def written(transaction: Transaction) -> bool:
            (rows,) = transaction.run((SETTINGS, (self._namespace,)))
            return {*settings} <= {*settings_of(rows)}

        self._write(lambda _: (None, [noted]), written=written)

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
        version = new_version()
        created = add_thread(self._namespace, thread, version, counters, quietly=True)

        def work(transaction: Transaction) -> Outcome[tuple[int, int] | None]:
            now, found, (before,), *new = transaction.run(
                (SETTINGS, (self._namespace,)),
                head_query(self._namespace, thread, lock=True),
                line.others_first(self._namespace, thread, ticket),
                *([] if expected else [created]),
            )
            require(self.location, settings_of(now), settings)
            head = head_of(found)
            if (head.version if head else 0) != expected or before[0] or new == [[]]:
                return None, None
            number = head.number if head else new[0][0][0]
            epoch = version if head is None or changes.removes else head.epoch
            last = [*write_rows(self._namespace, number, changes, vector_type=self._vector_type)]
            if head:
                last.append(advance(self._namespace, number, thread, (version, epoch), counters))
            if changes.removes:
                last.append(note_scrub(self._namespace, version))
            elif not now:
                last.append(set_settings(self._namespace, {}, keep=True))
            if ticket is not None:
                last.append(line.leave(self._namespace, ticket))
            return (version, epoch), last

        return self._write(
            work, written=lambda again: self._was_written(again, thread, version, expected)
        )

    def add_threads(self, threads: Mapping[str, Written], *, settings: Accepted) -> None:
        """Writes new threads, all or none."""
        version = new_version()
        heads = self._new_heads(threads, version)

        def work(transaction: Transaction) -> Outcome[None]:
            now, there = transaction.run((SETTINGS, (self._namespace,)), self._among(threads))
            require(self.location, settings_of(now), settings)
            if there:
                raise InputError(
                    f"the memory in {self.location} already has thread {there[0][0]!r}; forget it "
                    "first, or import into a new memory"
                )
            return None, [
                set_settings(self._namespace, {}, keep=True),
                *self._contents(threads, transaction.run(*heads)),
            ]

        def written(transaction: Transaction) -> bool | None:
            (there,) = transaction.run(self._among(threads))
            return bool(there) and all(found == version for _, found in there) if threads else True

        self._write(work, alone=True, written=written)

    def replace_all(
        self,
        threads: Mapping[str, Written],
        settings: Mapping[str, str],
        *,
        expected: Mapping[str, int],
        ticket: int | None = None,
    ) -> bool:
        """Replaces all threads and settings atomically."""
        version = new_version()
        heads = self._new_heads(threads, version)
        every = ("SELECT name, version FROM tsim.thread WHERE namespace = %s", (self._namespace,))

        def work(transaction: Transaction) -> Outcome[bool]:
            there, (before,) = transaction.run(
                every, line.others_first(self._namespace, None, ticket)
            )
            if dict(there) != expected or before[0]:
                return False, None
            gone = ("DELETE FROM tsim.thread WHERE namespace = %s", (self._namespace,))
            _, *numbers = transaction.run(gone, *heads)
            return True, [
                *remove_rows(self._namespace),
                *self._contents(threads, numbers),
                set_settings(self._namespace, dict(settings), keep=False),
                *([] if ticket is None else [line.leave(self._namespace, ticket)]),
            ]

        def written(transaction: Transaction) -> bool | None:
            there, now = transaction.run(every, (SETTINGS, (self._namespace,)))
            if dict(there) == dict.fromkeys(threads, version) and settings_of(now) == settings:
                return True
            return False if dict(there) == expected else None

        return self._write(work, alone=True, written=written)

    def line_up(self, thread: str | None, *, seconds: float) -> int:
        """Puts a writer in line for a thread, or for all threads; returns its ticket."""

        def work(transaction: Transaction) -> Outcome[int]:
            _, ((ticket,),) = transaction.run(
                line.sweep(self._namespace), line.join(self._namespace, thread, seconds)
            )
            return ticket, []

        # When those who were not in line have written.
        return self._write(work, alone=True)

    def first_in_line(self, ticket: int, *, seconds: float) -> bool:
        """Returns whether it is a writer's turn, and keeps its place for some more seconds."""
        (found,) = self._read(line.place(self._namespace, ticket))
        if not found:
            return True  # it was away for so long that its place was given up
        ((left, before),) = found
        if not before or left < seconds / 2:
            kept = line.keep(self._namespace, ticket, seconds)
            self._write(lambda _: (None, [kept]))
        return not before

    def leave_line(self, ticket: int) -> None:
        """Gives up a place in line."""
        left = line.leave(self._namespace, ticket)
        self._write(lambda _: (None, [left]))

    def remove(self, thread: str) -> bool:
        """Removes a thread and records that a scrub is due; returns whether it existed."""
        if "\0" in thread:
            return False
        version = new_version()
        query = "DELETE FROM tsim.thread WHERE namespace = %s AND name = %s RETURNING id"

        def work(transaction: Transaction) -> Outcome[bool]:
            (rows,) = transaction.run((query, (self._namespace, thread)))
            if not rows:
                return False, None
            last = [*remove_rows(self._namespace, rows[0][0])]
            return True, [*last, note_scrub(self._namespace, version)]

        def written(transaction: Transaction) -> bool:
            (rows,) = transaction.run(head_query(self._namespace, thread))
            return not rows

        return self._write(work, written=written)

    def scrub(self) -> bool:
        """Erases removed content from the files of the tables, if that holds up nobody.

        The tables are written anew, which needs their owner, and a moment in which nobody uses
        them; large ones are left to whoever runs the server. What the server has in its log, in
        replicas and in backups is out of reach.
        """
        return erase(self._transactions, self._namespace, self.location)

    def scrub_due(self) -> bool:
        """Returns whether removed content may still be in the files of the tables."""
        return due(self._transactions, self._namespace, self.location) is not None

    def check(self) -> list[str]:
        """Checks every row for changed bytes, and that the server syncs; returns the problems."""
        with self._transactions.reading(self._namespace, self.location) as transaction:
            return [*problems(transaction, self._namespace)]

    def close(self) -> None:
        """Closes the database, if the store was opened by its address."""
        self._close()

    def _read(self, *statements: Statement) -> list[Rows]:
        return self._transactions.read(self._namespace, self.location, *statements)

    def _write(
        self,
        work: Callable[[Transaction], Outcome[T]],
        *,
        alone: bool = False,
        written: Callable[[Transaction], bool | None] | None = None,
    ) -> T:
        return self._transactions.write(
            self._namespace, self.location, work, alone=alone, written=written
        )

    def _was_written(
        self, transaction: Transaction, thread: str, version: int, expected: int
    ) -> bool | None:
        """Returns whether a thread has had a version, if that can be known."""
        query = "SELECT version, former FROM tsim.thread WHERE namespace = %s AND name = %s"
        (rows,) = transaction.run((query, (self._namespace, thread)))
        if not rows:
            return None if expected else False
        ((latest, former),) = rows
        if version in (latest, *former):
            return True
        begun = not expected and len(former) < FORMER  # all versions it ever had are known
        return False if begun or expected in (latest, *former) else None

    def _among(self, threads: Mapping[str, Written]) -> Statement:
        query = (
            "SELECT name, version FROM tsim.thread WHERE namespace = %s AND name = ANY(%s) "
            "ORDER BY name"
        )
        return query, (self._namespace, [*threads])

    def _new_heads(self, threads: Mapping[str, Written], version: int) -> list[Statement]:
        return [
            add_thread(self._namespace, name, version, counters)
            for name, (_, counters) in threads.items()
        ]

    def _contents(
        self, threads: Mapping[str, Written], numbers: Sequence[Rows]
    ) -> Iterator[Statement]:
        """Yields what writes the rows of new threads, whose numbers are given in order."""
        for ((number,),), (changes, _) in zip(numbers, threads.values(), strict=True):
            yield from write_rows(self._namespace, number, changes, vector_type=self._vector_type)


def new_version() -> int:
    """Returns a number that nobody has chosen before; 0 is no version."""
    return secrets.randbits(62) + 1
