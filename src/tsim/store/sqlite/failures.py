"""Converts SQLite errors to store errors."""

import sqlite3
from pathlib import Path

from tsim.errors import StoreBusyError, StoreError, StoreFullError, StoreReadOnlyError

# What to do about a damaged file.
MENDING = "restore it from a backup or an export, or save what is whole with: tsim doctor --repair"


def explain(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
    """Returns an error that says what happened to a memory file and what to do about it."""
    if isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode"):
        # SQLite's message has the text, which nobody should find in a log.
        return StoreError(f"{path} is damaged (a text is not UTF-8); {MENDING}")
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
        return StoreError(f"{path} is damaged ({error}); {MENDING}")
    if primary == sqlite3.SQLITE_NOTADB:
        return StoreError(
            f"{path} is not a memory file ({error}); it was not changed; use another path"
        )
    return StoreError(f"{path}: {error}; run: tsim doctor --memory {path}")
