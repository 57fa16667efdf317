"""Where threads are kept."""

from tsim.store.protocol import Store
from tsim.store.sqlite import SqliteStore

__all__ = ["SqliteStore", "Store"]
