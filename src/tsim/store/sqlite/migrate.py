"""Applies the steps of the schema to a memory file."""

import sqlite3
from pathlib import Path

from tsim.errors import StoreError
from tsim.store.migrations import Migration, refuse_strangers, shipped
from tsim.store.sqlite.checksums import fill

LEDGER = """
CREATE TABLE IF NOT EXISTS migration (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL
)
"""

# What SQL alone cannot do, after a step.
AFTER = {5: fill}
# Steps that reading can do without.
SPARED = (5, 7)


def known() -> list[Migration]:
    """Reads the steps of this version, in order."""
    return shipped("tsim.store.sqlite")


def migrate(connection: sqlite3.Connection, steps: list[Migration]) -> None:
    """Applies the missing steps in one transaction.

    Raises:
        StoreError: An applied step differs from the known one, or is unknown.
    """
    if _applied(connection) == [(step.number, step.sha256) for step in steps]:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(LEDGER)
        applied = dict(_applied(connection))
        refuse_strangers(applied, steps)
        for step in steps:
            if step.number not in applied:
                for statement in statements(step.sql):
                    connection.execute(statement)
                if step.number in AFTER:
                    AFTER[step.number](connection)
                row = (step.number, step.name, step.sha256)
                connection.execute("INSERT INTO migration VALUES (?, ?, ?)", row)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def require_current(path: Path, connection: sqlite3.Connection, steps: list[Migration]) -> None:
    """Checks that a file has the schema of this version, without changing it.

    Raises:
        StoreError: It is not a memory file, or has another schema.
    """
    applied = dict(_applied(connection))
    if not applied:
        raise StoreError(f"{path} is not a memory file; use another path")
    refuse_strangers(applied, steps)
    missing = [step.name for step in steps if step.number not in {*applied, *SPARED}]
    if missing:
        raise StoreError(
            f"{path} was written by an older version and lacks schema step {missing[0]}, which "
            "cannot be added read-only; open it once for writing, or a copy of it"
        )


def _applied(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    exists = "SELECT count(*) FROM sqlite_master WHERE name = 'migration'"
    if not connection.execute(exists).fetchone()[0]:
        return []
    return connection.execute("SELECT number, sha256 FROM migration ORDER BY number").fetchall()


def statements(sql: str) -> list[str]:
    """Splits a file into statements; `executescript` would commit the transaction."""
    statements, rest = [], ""
    for line in sql.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            statements.append(rest)
            rest = ""
    return statements
