"""A Postgres database with the memories of many namespaces, which share one pool of connections."""

from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import Self

import psycopg

from tsim.errors import InputError
from tsim.store.postgres import failures, vectors
from tsim.store.postgres.address import Address, check_namespace
from tsim.store.postgres.migrate import (
    known,
    migrate,
    path_of,
    require_current,
    require_suitable,
    vector_type,
)
from tsim.store.postgres.pool import Connection, Pool
from tsim.store.postgres.store import PostgresStore
from tsim.store.postgres.transactions import READ, Transaction, Transactions

POOL_SIZE = 10
BUSY_SECONDS = 30.0
# What stands for no namespace in particular; no namespace has this name.
EVERY = "*"


class PostgresDatabase:
    """Owns the connections and the schema. `store` returns the memory of a namespace."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = POOL_SIZE,
        busy_seconds: float = BUSY_SECONDS,
        read_only: bool = False,
    ) -> None:
        """Connects, and creates or updates the schema if needed.

        Args:
            url: The address, `postgresql://user@host/database`; its fragment is not used.
            pool_size: Connections in use at the same time, at most.
            busy_seconds: How long to wait for other writers, or for a connection.
            read_only: Write nothing; the schema must be there.

        Raises:
            InputError: The address cannot be read.
            StoreError: The database cannot be reached or used.
        """
        if pool_size < 1:
            raise InputError(f"pool_size={pool_size} is out of range; it must be at least 1")
        self._address = Address.parse(url)
        self.place = self._address.place
        self.read_only = read_only
        self._pool = Pool(self._connect, size=pool_size, seconds=busy_seconds, place=self.place)
        try:
            with self._pool.lend() as connection:
                require_suitable(self.place, connection)
                (require_current if read_only else migrate)(self.place, connection, known())
                self._vector_type = vector_type(connection)
                path = path_of(connection)
        except psycopg.Error as error:
            self._pool.close()
            raise failures.explain(self.place, error) from error
        except BaseException:
            self._pool.close()
            raise
        self._transactions = Transactions(
            self._pool, path=path, busy_seconds=busy_seconds, read_only=read_only
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def store(self, namespace: str, *, close: Callable[[], None] = lambda: None) -> PostgresStore:
        """Returns the memory of a namespace; closing it does not close the database.

        Args:
            namespace: The namespace.
            close: Called when the store is closed.

        Raises:
            InputError: It is no name of a namespace.
        """
        return PostgresStore(
            self._transactions,
            namespace=check_namespace(namespace),
            place=self.place,
            vector_type=self._vector_type,
            read_only=self.read_only,
            close=close,
        )

    def namespaces(self) -> list[str]:
        """Returns the namespaces that have a memory, sorted."""
        query = "SELECT namespace FROM tsim.memory ORDER BY namespace"
        (rows,) = self._transactions.read(EVERY, self.place, (query, ()))
        return [name for (name,) in rows]

    def has(self, namespace: str) -> bool:
        """Returns whether a namespace has a memory."""
        query = "SELECT count(*) FROM tsim.memory WHERE namespace = %s"
        (((count,),),) = self._transactions.read(namespace, self.place, (query, (namespace,)))
        return bool(count)

    def bypasses_security(self) -> bool:
        """Returns whether the user is one for whom policies of rows do not hold."""
        query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        (((found,),),) = self._transactions.read(EVERY, self.place, (query, ()))
        return bool(found)

    def close(self) -> None:
        """Closes the connections; those in use are closed when they are returned."""
        self._pool.close()

    def _connect(self) -> Connection:
        connection = _connect(self._address)
        vectors.register(connection.adapters)
        return connection


def has_memory(url: str) -> bool:
    """Returns whether there is a memory at an address, without creating anything.

    Raises:
        InputError: The address cannot be read.
        StoreError: The database cannot be reached.
    """
    address = Address.parse(url)
    setting = ("SELECT set_config('tsim.namespace', %s, true)", (address.namespace,))
    query = ("SELECT count(*) FROM tsim.memory WHERE namespace = %s", (address.namespace,))
    try:
        with closing(_connect(address)) as connection:
            there = connection.execute("SELECT to_regclass('tsim.memory') IS NOT NULL").fetchall()
            if there == [(False,)]:
                return False
            (((count,),),) = Transaction(connection, [READ, setting]).run(query, end=True)
            return bool(count)
    except psycopg.Error as error:
        raise failures.explain(address.place, error) from error


def _connect(address: Address) -> Connection:
    try:
        # Statements that are prepared in a session would be lost behind a pooler.
        return psycopg.connect(**address.parameters, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise failures.unreachable(address.place, error) from error
