"""The default store: one SQLite file."""

from tsim.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
