"""Kinds of database files: how one is recognised, its schema, and what its failures mean."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tsim.errors import StoreError
from tsim.store.sqlite.failures import explain
from tsim.store.sqlite.migrate import known, migrate
from tsim.store.sqlite.recognise import require_ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What distinguishes files of one kind.

    Attributes:
        require: Raises `StoreError` if a file exists and is of another kind, without changing it.
        migrate: Creates the schema, or brings it up to date.
        explain: Returns what an error of SQLite means for such a file.
    """

    require: Callable[[Path], None]
    migrate: Callable[[sqlite3.Connection], None]
    explain: Callable[[Path, sqlite3.Error | UnicodeDecodeError], StoreError]


MEMORY = Kind(
    require=require_ours,
    migrate=lambda connection: migrate(connection, known()),
    explain=explain,
)
