"""Transactions, each of which says first for which namespace it is.

Nothing is kept in a session: whatever is set is set for the transaction alone, so that a pooler may
give every transaction to another session. Statements that do not depend on each other's results are
sent together; each call of `Transaction.run` waits for the server once.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.errors import Diagnostic
from psycopg.pq import TransactionStatus

from tsim.errors import StoreError, StoreReadOnlyError
from tsim.store.postgres import failures
from tsim.store.postgres.pool import Connection, Pool

# SQL with its values, and the rows that it returns.
Statement: TypeAlias = tuple[str, Sequence[Any]]
Rows: TypeAlias = list[tuple[Any, ...]]
T = TypeVar("T")
# A result, and the statements that complete the transaction; None if nothing is to be written.
Outcome: TypeAlias = tuple[T, Iterable[Statement] | None]

READ = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
WRITE = ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ())
COMMIT = ("COMMIT", ())
SET_READING = "SELECT set_config('tsim.namespace', %s, true), set_config('search_path', %s, true)"
# A commit is on the disk when it is acknowledged, whatever is set for the role or the database. A
# writer that stops in the middle, because its machine is gone, does not keep its locks.
SET_WRITING = (
    f"{SET_READING}, set_config('lock_timeout', %s, true), "
    "set_config('idle_in_transaction_session_timeout', %s, true), "
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"
)
IDLE_SECONDS = 60
# The lock of a namespace: writers of one thread share it, writers of all of them have it alone.
SHARED = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 0))"
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
# Seconds for which somebody looks whether a change was written, and between two looks.
SETTLE_SECONDS, LOOK_SECONDS = 15.0, 0.2


class Transaction:
    """A transaction that begins with its first statement. What is not ended is taken back."""

    def __init__(self, connection: Connection, begin: Sequence[Statement]) -> None:
        """Sends nothing yet.

        Args:
            connection: A connection outside of transactions.
            begin: The statements that begin the transaction.
        """
        self._connection = connection
        self._begin = [*begin]

    def run(self, *statements: Statement, end: bool = False) -> list[Rows]:
        """Runs statements in order, waiting for the server once; returns the rows of each.

        Args:
            statements: The statements. If one fails, those after it are not run.
            end: Whether to commit after them.
        """
        before, self._begin = self._begin, []
        with self._connection.pipeline():
            cursors = [
                self._connection.execute(query.encode(), values, binary=True)
                for query, values in (*before, *statements, *([COMMIT] if end else []))
            ]
        wanted = cursors[len(before) : len(before) + len(statements)]
        return [cursor.fetchall() if cursor.description else [] for cursor in wanted]

    def abandon(self) -> None:
        """Takes back what was not ended; the connection is closed if that is not possible."""
        try:
            if self._connection.info.transaction_status in (
                TransactionStatus.INTRANS,
                TransactionStatus.INERROR,
            ):
                self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._connection.close()


class Transactions:
    """The transactions of one database."""

    def __init__(self, pool: Pool, *, path: str, busy_seconds: float, read_only: bool) -> None:
        """Takes a pool of connections.

        Args:
            pool: The connections.
            path: Where types and operators of extensions are found (`search_path`).
            busy_seconds: How long to wait for locks.
            read_only: Whether nothing may be written.
        """
        self._pool = pool
        self._path = path
        self._busy_seconds = busy_seconds
        self._read_only = read_only

    @contextmanager
    def reading(self, namespace: str, location: str) -> Iterator[Transaction]:
        """Yields a transaction that sees one state, the one at its first statement."""
        with self._pool.lend() as connection, _explained(location):
            transaction = Transaction(connection, self._reads(namespace))
            try:
                yield transaction
            finally:
                transaction.abandon()

    def read(self, namespace: str, location: str, *statements: Statement) -> list[Rows]:
        """Reads one state, waiting for the server once."""
        with self.reading(namespace, location) as transaction:
            return transaction.run(*statements, end=True)

    def write(
        self,
        namespace: str,
        location: str,
        work: Callable[[Transaction], Outcome[T]],
        *,
        alone: bool = False,
        written: Callable[[Transaction], bool | None] | None = None,
    ) -> T:
        """Writes in one transaction.

        Args:
            namespace: The namespace.
            location: The memory, for messages.
            work: Returns its result and the statements that complete the transaction, or None in
                their place if nothing is to be written.
            alone: Whether nobody else may write to the namespace meanwhile.
            written: Called on a new connection, while nobody else writes to the namespace, if the
                connection was lost during the commit: returns whether the change was written, or
                None if that cannot be known.

        Raises:
            StoreReadOnlyError: Nothing may be written.
            StoreError: It could not be written, or it is unknown whether it was; the message says.
        """
        if self._read_only:
            raise StoreReadOnlyError(
                f"{location} was opened read-only, so nothing can be added, forgotten, imported or "
                "rebuilt; open it without read_only=True"
            )
        with self._writing(namespace, location, alone=alone) as transaction:
            result, last = work(transaction)
            if last is None:
                return result
            try:
                transaction.run(*last, end=True)
                return result
            except psycopg.Error as error:
                if not failures.is_lost(error):
                    raise
                doubt = error
        found = self._settled(namespace, location, written) if written else None
        if found is None:
            raise failures.doubtful(location, doubt) from doubt
        if not found:
            raise failures.lost(location, doubt) from doubt
        return result

    @contextmanager
    def _writing(self, namespace: str, location: str, *, alone: bool) -> Iterator[Transaction]:
        setting = (
            namespace,
            self._path,
            str(round(1000 * self._busy_seconds)),
            str(1000 * IDLE_SECONDS),
        )
        lock = (ALONE if alone else SHARED, (f"tsim/{namespace}",))
        with self._pool.lend() as connection, _explained(location):
            transaction = Transaction(connection, [WRITE, (SET_WRITING, setting), lock])
            try:
                yield transaction
            finally:
                transaction.abandon()

    def _settled(
        self, namespace: str, location: str, written: Callable[[Transaction], bool | None]
    ) -> bool | None:
        """Looks whether a change was written, when whoever wrote it has ended for certain."""
        until = time.monotonic() + SETTLE_SECONDS
        while True:
            with (
                suppress(StoreError),
                self._writing(namespace, location, alone=True) as transaction,
            ):
                return written(transaction)
            if time.monotonic() > until:
                return None
            time.sleep(LOOK_SECONDS)

    def maintain(self, location: str, statement: str) -> list[str]:
        """Runs a statement that cannot be in a transaction; returns the details that it reports."""
        said: list[str] = []

        def note(one: Diagnostic) -> None:  # it cannot be read later
            said.extend([one.message_detail] if one.message_detail else [])

        with self._pool.lend() as connection, _explained(location):
            connection.add_notice_handler(note)
            try:
                connection.execute(statement.encode())
            finally:
                connection.remove_notice_handler(note)
        return said

    def _reads(self, namespace: str) -> list[Statement]:
        return [READ, (SET_READING, (namespace, self._path))]


@contextmanager
def _explained(location: str) -> Iterator[None]:
    """Converts errors of Postgres to `StoreError`."""
    try:
        yield
    except psycopg.Error as error:
        raise failures.explain(location, error) from error
