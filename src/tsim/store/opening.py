"""Opens the memory at a place: a file, or the address of a database."""

from importlib.util import find_spec
from pathlib import Path

from tsim.arguments import path as checked_path
from tsim.errors import InputError
from tsim.store.addresses import FORM, is_address, was_address
from tsim.store.protocol import Store
from tsim.store.sqlite import SqliteStore


def open_store(place: str | Path, *, read_only: bool = False) -> Store:
    """Opens a memory file, or the memory at an address.

    Args:
        place: The file, or `postgresql://user@host/database#namespace` as text.
        read_only: Write nothing.

    Raises:
        InputError: It is neither a path nor an address, or the extra `postgres` is missing.
        StoreError: It cannot be used.
    """
    if isinstance(place, str) and is_address(place):
        require_extra()
        from tsim.store.postgres import PostgresStore

        return PostgresStore.open(place, read_only=read_only)
    file = checked_path("path", place)
    if was_address(str(file)):
        raise InputError(f"a Path cannot hold an address; pass {FORM} as text")
    return SqliteStore(file, read_only=read_only)


def exists(place: str | Path) -> bool:
    """Returns whether there is a memory at a place, without creating anything.

    Raises:
        InputError: It is neither a path nor an address.
        StoreError: The database cannot be reached.
    """
    if isinstance(place, str) and is_address(place):
        require_extra()
        from tsim.store.postgres.database import has_memory

        return has_memory(place)
    return checked_path("path", place).is_file()


def shown(place: str | Path) -> str:
    """Returns a place as it may be shown: an address without its password."""
    if isinstance(place, str) and is_address(place):
        require_extra()
        from tsim.store.postgres.address import Address

        address = Address.parse(place)
        return f"{address.place}#{address.namespace}"
    return str(place)


def require_extra() -> None:
    """Raises `InputError` if what memories in PostgreSQL need is not installed."""
    if find_spec("psycopg") is None:
        raise InputError(
            "a memory in PostgreSQL needs the extra postgres, of which psycopg cannot be found; "
            "run: pip install 'tsim-memory[postgres]'"
        )
