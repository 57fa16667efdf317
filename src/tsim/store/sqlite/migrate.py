"""Schema migrations: numbered SQL files that are applied to a memory file.

The hash of each SQL file is recorded when it is applied. A memory whose recorded hashes differ, or
that was written by a newer version, is rejected.
"""

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tsim.errors import StoreError
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
SPARED = (5,)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    number: int
    name: str
    sql: str
    after: Callable[[sqlite3.Connection], None] | None = None

    @property
    def sha256(self) -> str:
        """The hash of the SQL."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def known() -> list[Migration]:
    """Reads the steps of this version, in order."""
    folder = resources.files("tsim.store.sqlite") / "migrations"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [
        Migration(int(f.name[:4]), f.name, f.read_text("utf-8"), AFTER.get(int(f.name[:4])))
        for f in files
    ]


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
        _refuse_strangers(applied, steps)
        for step in steps:
            if step.number not in applied:
                for statement in statements(step.sql):
                    connection.execute(statement)
                if step.after:
                    step.after(connection)
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
    _refuse_strangers(applied, steps)
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


def _refuse_strangers(applied: dict[int, str], steps: list[Migration]) -> None:
    by_number = {step.number: step for step in steps}
    for number, sha256 in applied.items():
        if number not in by_number:
            raise StoreError(
                f"the memory has schema step {number}, this version knows {len(steps)}: it was "
                "written by a newer version; upgrade to open it"
            )
        if by_number[number].sha256 != sha256:
            raise StoreError(
                f"schema step {by_number[number].name} was applied with sha256 {sha256}, this "
                f"version has {by_number[number].sha256}: the versions have diverged; open the "
                "memory with the version that wrote it, export it there and import it here"
            )


def statements(sql: str) -> list[str]:
    """Splits a file into statements; `executescript` would commit the transaction."""
    statements, rest = [], ""
    for line in sql.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            statements.append(rest)
            rest = ""
    return statements
