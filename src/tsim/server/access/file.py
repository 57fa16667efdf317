"""The file of keys and of the audit log: a kind of SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path

from tsim import private
from tsim.errors import StoreBusyError, StoreError, StoreFullError
from tsim.server.access.statements import Statements
from tsim.store.sqlite.database import DatabaseFile
from tsim.store.sqlite.failures import explain
from tsim.store.sqlite.kind import Kind
from tsim.store.sqlite.migrate import statements
from tsim.store.sqlite.recognise import strangeness

# By these SQLite files say what they are; the version is the number of the latest schema file.
APPLICATION = int.from_bytes(b"tsky")
VERSION = 1
ADVICE = "it was not changed; check its permissions, restore it from a backup, or move it away"
# Seconds to wait for other processes.
BUSY_SECONDS = 10.0


class AccessFile:
    """The file of keys and of the audit log."""

    # There is one server for it, which makes a secret when it starts.
    secret: bytes | None = None

    def __init__(self, path: Path) -> None:
        """Opens the file, creating it and its directory for the user alone if needed.

        Raises:
            StoreError: It is another file, is damaged, or cannot be used. It was not changed.
        """
        private.make_directory(path.parent)
        self._file = DatabaseFile(path, busy_seconds=BUSY_SECONDS, kind=ACCESS)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yields a transaction that sees one state."""
        return self._file.reading()

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yields a transaction in which nobody else writes; it commits or rolls back."""
        return self._file.writing()

    def unguarded(self, statements: Statements) -> Iterator[str]:
        """Yields what no longer keeps the log from being changed."""
        found = {sql for (sql,) in statements.execute("SELECT sql FROM sqlite_master")}
        for statement in schema():
            text = statement[statement.index("CREATE") :].strip().removesuffix(";")
            if text not in found:
                yield f"the file has no longer: {text.splitlines()[0]}"

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def schema() -> list[str]:
    """Returns the statements that make an empty file one of keys."""
    folder = resources.files("tsim.server.access") / "schema"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [statement for file in files for statement in statements(file.read_text("utf-8"))]


def _require(path: Path) -> None:
    try:
        found = strangeness(path, lambda one: _number(one, "application_id") == APPLICATION)
    except sqlite3.DatabaseError as error:
        raise _explain(path, error) from error
    if found:
        raise StoreError(f"{path} is a database of another program ({found[0]}); {ADVICE}")


def _migrate(connection: sqlite3.Connection) -> None:
    if _number(connection, "user_version") == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _number(connection, "user_version")  # another process may have been quicker
        if found > VERSION:
            raise StoreError(
                f"the file of keys has schema {found}, this version knows {VERSION}: it was "
                "written by a newer version; upgrade to open it"
            )
        if not found:
            for statement in schema():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _explain(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
    found = explain(path, error)
    if isinstance(found, StoreBusyError | StoreFullError):
        return found
    return type(found)(f"{path} cannot be used as the file of keys ({error}); {ADVICE}")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


ACCESS = Kind(require=_require, migrate=_migrate, explain=_explain)
