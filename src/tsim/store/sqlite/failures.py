"""Converts SQLite errors to store errors."""

import sqlite3
from pathlib import Path

from tsim.errors import StoreBusyError, StoreError, StoreFullError, StoreReadOnlyError


def explain(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    """Returns an error that says what happened to a memory file and what to do about it."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusyError(
            f"{path} was locked by another process for too long ({error}); try again later"
        )
    if primary == sqlite3.SQLITE_FULL:
        return StoreFullError(
            f"{path} cannot grow ({error}): this change was not written and the existing content "
            "is intact; free some space and try again"
        )
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        offer = "; to search and export it, open it with read_only=True (--read-only)"
        return StoreReadOnlyError(
            f"{path} cannot be opened for writing ({error}); check the permissions of the file and "
            f"its directory{offer if path.is_file() else ''}"
        )
    if primary == sqlite3.SQLITE_CORRUPT:
        return StoreError(f"{path} is damaged ({error}); restore it from an export or a copy")
    if primary == sqlite3.SQLITE_NOTADB:
        return StoreError(
            f"{path} is not a memory file ({error}); it was not changed; use another path"
        )
    return StoreError(f"{path}: {error}; run: tsim doctor --memory {path}")
