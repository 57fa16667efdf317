"""Keys and the audit log in a Postgres database, for several servers that share it."""

import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import psycopg

from tsim.errors import StoreError
from tsim.server.access.statements import Statements
from tsim.server.roles import unbound
from tsim.store.postgres import failures
from tsim.store.postgres.address import Address
from tsim.store.postgres.pool import Connection, Pool
from tsim.store.postgres.transactions import READ, WRITE, Transaction

VERSION = 1
POOL_SIZE = 4
BUSY_SECONDS = 10.0
# Whoever creates the tables has this lock, for its transaction alone.
LOCK = 0x74736B79  # "tsky"
TABLES = ("SELECT set_config('search_path', 'tsim_access', true)", ())
WRITING = (
    "SELECT set_config('search_path', 'tsim_access', true), set_config('lock_timeout', %s, true), "
    "set_config('idle_in_transaction_session_timeout', '60000', true), "
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)",
    (str(round(1000 * BUSY_SECONDS)),),
)
# Lines have the number and the hash of the one before, so they are added one after the other.
ALONE = ("LOCK TABLE audit IN EXCLUSIVE MODE", ())
TRIGGERS = (
    "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN "
    "('O', 'A') AND tgrelid IN ('tsim_access.key'::regclass, 'tsim_access.audit'::regclass)"
)
UNBOUND = "SELECT rolsuper OR rolbypassrls FROM pg_catalog.pg_roles WHERE rolname = current_user"
FUNCTIONS = "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'tsim_access'::regnamespace"


class AccessTables:
    """The tables in the schema `tsim_access`."""

    def __init__(self, url: str) -> None:
        """Connects, and creates the tables if they are missing.

        Args:
            url: The address of the database; its fragment is not used.

        Raises:
            InputError: The address cannot be read, or its user could read all namespaces.
            StoreError: The database cannot be reached or used.
        """
        self._address = Address.parse(url)
        place = self._address.place
        self._place = f"the keys in {place}"
        self._pool = Pool(self._connect, size=POOL_SIZE, seconds=BUSY_SECONDS, place=place)
        try:
            with self._pool.lend() as connection, self._explained():
                if connection.execute(UNBOUND).fetchall() == [(True,)]:
                    raise unbound(place)
                version, self._secret = _prepared(connection)
        except BaseException:
            self._pool.close()
            raise
        if version != VERSION:
            self._pool.close()
            raise StoreError(
                f"{self._place} have schema {version}, this version knows {VERSION}: they were "
                "written by a newer version; upgrade to use them"
            )

    @property
    def secret(self) -> bytes | None:
        """What all servers that use the database sign with."""
        return self._secret

    @contextmanager
    def reading(self) -> Iterator["_Statements"]:
        """Yields a transaction that sees one state."""
        with self._pool.lend() as connection, self._explained():
            transaction = Transaction(connection, [READ, TABLES])
            try:
                yield _Statements(transaction)
            finally:
                transaction.abandon()

    @contextmanager
    def writing(self) -> Iterator["_Statements"]:
        """Yields a transaction in which nobody else writes; it commits or rolls back."""
        with self._pool.lend() as connection, self._explained():
            transaction = Transaction(connection, [WRITE, WRITING, ALONE])
            try:
                yield _Statements(transaction)
                self._commit(transaction)
            finally:
                transaction.abandon()

    def unguarded(self, statements: Statements) -> Iterator[str]:
        """Yields what no longer keeps the log from being changed."""
        # Triggers name what is not found without its schema.
        statements.execute("SELECT set_config('search_path', 'pg_catalog', true)")
        found = {text for (text,) in statements.execute(TRIGGERS)}
        bodies = {name: body.strip() for name, body in statements.execute(FUNCTIONS)}
        script = _schema()
        for trigger in re.findall(r"^(CREATE TRIGGER .*);$", script, re.MULTILINE):
            if trigger not in found:
                yield f"the database has no longer: {trigger.partition(' FOR EACH')[0]}"
        for name, body in re.findall(r"FUNCTION tsim_access\.(\w+).*?\$\$(.*?)\$\$", script, re.S):
            if bodies.get(name) != body.strip():
                yield f"the database has no longer: FUNCTION tsim_access.{name}"

    def close(self) -> None:
        """Closes the connections."""
        self._pool.close()

    def _commit(self, transaction: Transaction) -> None:
        try:
            transaction.run(end=True)
        except psycopg.Error as error:
            if failures.is_lost(error):
                raise failures.doubtful(self._place, error) from error
            raise

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(
                **self._address.parameters, autocommit=True, prepare_threshold=None
            )
        except psycopg.Error as error:
            raise failures.unreachable(self._address.place, error) from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            found = failures.explain(self._place, error)
            if type(found) is StoreError:  # its advice is about memories
                reason = error.diag.message_primary or type(error).__name__
                found = StoreError(f"{self._place} cannot be used ({reason})")
            raise found from error


class _Statements:
    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def execute(self, sql: str, values: Any = (), /) -> Iterable[tuple[Any, ...]]:
        (rows,) = self._transaction.run((sql.replace("?", "%s"), values))
        return rows


def _prepared(connection: Connection) -> tuple[int, bytes]:
    """Returns the version of the tables and the secret, after creating them if they are missing."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if not _there(connection):
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if not _there(connection):  # another process may have been quicker
            connection.execute("CREATE SCHEMA tsim_access")
            connection.execute(_schema().encode())
            about = (VERSION, secrets.token_bytes(32))
            connection.execute("INSERT INTO tsim_access.about VALUES (%s, %s)", about)
        ((version, secret),) = connection.execute(
            "SELECT version, secret FROM tsim_access.about"
        ).fetchall()
    return version, bytes(secret)


def _there(connection: Connection) -> bool:
    # Not by to_regclass, which remembers within a transaction what was not there.
    query = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'tsim_access'"
    return bool(connection.execute(query).fetchall())


def _schema() -> str:
    folder = resources.files("tsim.server.access") / "schema_postgres"
    return (folder / "0001_access.sql").read_text("utf-8")
