"""Stores: durable storage of threads."""

from tsim.store.addresses import is_address
from tsim.store.agreement import Accepted
from tsim.store.current import CurrentReads
from tsim.store.existence import require_thread
from tsim.store.opening import exists, open_store, require_extra, shown
from tsim.store.protocol import Reader, Store, Written
from tsim.store.sqlite import SqliteStore

__all__ = [
    "Accepted",
    "CurrentReads",
    "Reader",
    "SqliteStore",
    "Store",
    "Written",
    "exists",
    "is_address",
    "open_store",
    "require_extra",
    "require_thread",
    "shown",
]
