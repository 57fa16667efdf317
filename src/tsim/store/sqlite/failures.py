"""SQLite's errors in our words."""

import sqlite3
from pathlib import Path

from tsim.errors import StoreBusyError, StoreError, StoreFullError, StoreReadOnlyError


def explain(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    """Says what happened to a memory file and what to do about it."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusyError(
            f"{path} was held by another process for too long ({error}); try again when it is done"
        )
    if primary == sqlite3.SQLITE_FULL:
        return StoreFullError(
            f"{path} cannot grow ({error}): nothing of this change was written and what was there "
            "is intact; free some space and try again"
        )
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return StoreReadOnlyError(
            f"{path} cannot be opened for writing ({error}); check the permissions of the file and "
            "its directory"
        )
    if primary == sqlite3.SQLITE_CORRUPT:
        return StoreError(f"{path} is damaged ({error}); restore it from an export or a copy")
    if primary == sqlite3.SQLITE_NOTADB:
        return StoreError(f"{path} is not a memory file ({error}); nothing was changed in it")
    return StoreError(f"{path}: {error}; run: tsim doctor --memory {path}")
