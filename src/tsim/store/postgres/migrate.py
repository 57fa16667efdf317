"""Creates and updates the schema, and looks whether a server can be used at all."""

import psycopg

from tsim.errors import StoreError
from tsim.store.migrations import Migration, refuse_strangers, shipped
from tsim.store.postgres.pool import Connection

# The oldest version of the server, as libpq writes it.
OLDEST = 140_000
# Whoever changes the schema has this lock, for its transaction alone.
LOCK = 0x7473696D  # "tsim"
LEDGER = (
    "CREATE TABLE IF NOT EXISTS tsim.migration (number integer PRIMARY KEY, name text NOT NULL, "
    "sha256 text NOT NULL)"
)
# The extension is not there, or its files are not.
UNAVAILABLE = ("0A000", "58P01")


def known() -> list[Migration]:
    """Reads the steps of this version, in order."""
    return shipped("tsim.store.postgres")


def require_suitable(place: str, connection: Connection) -> None:
    """Checks version and encoding of a server.

    Raises:
        StoreError: It cannot be used.
    """
    found = connection.info.server_version
    if found < OLDEST:
        raise StoreError(
            f"{place} is PostgreSQL {found // 10_000}; {OLDEST // 10_000} or newer is needed"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"the database at {place} has the encoding {encoding}; create it with ENCODING 'UTF8'"
        )


def migrate(place: str, connection: Connection, steps: list[Migration]) -> None:
    """Applies the missing steps in one transaction; others wait for it.

    Raises:
        StoreError: An applied step differs from the known one or is unknown; pgvector is missing.
    """
    if _applied(connection) == {step.number: step.sha256 for step in steps}:
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if not _exists(connection, "SELECT to_regnamespace('tsim') IS NOT NULL"):
            connection.execute("CREATE SCHEMA tsim")
        applied = _applied(connection)
        refuse_strangers(applied, steps)
        if not applied:
            _add_vectors(place, connection)
            connection.execute(LEDGER)
        connection.execute("SELECT set_config('search_path', %s, true)", (path_of(connection),))
        for step in steps:
            if step.number not in applied:
                connection.execute(step.sql.encode())
                row = (step.number, step.name, step.sha256)
                connection.execute("INSERT INTO tsim.migration VALUES (%s, %s, %s)", row)


def require_current(place: str, connection: Connection, steps: list[Migration]) -> None:
    """Checks that a database has the schema of this version, without changing it.

    Raises:
        StoreError: It has no memories, or another schema.
    """
    applied = _applied(connection)
    if not applied:
        raise StoreError(
            f"the database at {place} has no memories yet; open one for writing to make the tables"
        )
    refuse_strangers(applied, steps)
    missing = [step.name for step in steps if step.number not in applied]
    if missing:
        raise StoreError(
            f"the database at {place} lacks schema step {missing[0]}, which cannot be added "
            "read-only; open it once for writing, as the owner of the tables"
        )


def path_of(connection: Connection) -> str:
    """Returns where the types and operators of pgvector are, to be set as `search_path`."""
    query = (
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace "
        "ON pg_namespace.oid = extnamespace WHERE extname = 'vector'"
    )
    rows = connection.execute(query).fetchall()
    return f"{rows[0][0]}, pg_temp" if rows else "pg_temp"


def vector_type(connection: Connection) -> int:
    """Returns the number that the type of vectors has in this database."""
    query = (
        "SELECT pg_type.oid FROM pg_extension JOIN pg_type ON typnamespace = extnamespace "
        "WHERE extname = 'vector' AND typname = 'vector'"
    )
    ((number,),) = connection.execute(query).fetchall()
    return int(number)


def _add_vectors(place: str, connection: Connection) -> None:
    if _exists(connection, "SELECT count(*) > 0 FROM pg_extension WHERE extname = 'vector'"):
        return
    try:
        connection.execute("CREATE EXTENSION vector")
    except psycopg.Error as error:
        if error.sqlstate in UNAVAILABLE:
            what = "install pgvector 0.5 or newer on the server"
        elif error.sqlstate == "42501":
            what = "let an administrator run in this database: CREATE EXTENSION vector"
        else:
            raise
        raise StoreError(f"the database at {place} lacks the extension pgvector; {what}") from error


def _applied(connection: Connection) -> dict[int, str]:
    if not _exists(connection, "SELECT to_regclass('tsim.migration') IS NOT NULL"):
        return {}
    rows = connection.execute("SELECT number, sha256 FROM tsim.migration ORDER BY number")
    return dict(rows.fetchall())


def _exists(connection: Connection, query: str) -> bool:
    ((found,),) = connection.execute(query.encode()).fetchall()
    return bool(found)
