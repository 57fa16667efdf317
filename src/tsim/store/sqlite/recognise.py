"""Recognises memory files, without changing files that are none.

To open a SQLite file for writing may change it: its log is moved into it when it is closed, and
what was interrupted is rolled back. So a file is looked at read-only first.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tsim.errors import StoreError
from tsim.store.sqlite.failures import explain

# The columns of the table that every memory file has.
LEDGER = ["number", "name", "sha256"]


def require_ours(path: Path) -> None:
    """Raises an error if a file exists, is not empty and is not a memory file.

    Raises:
        StoreError: It is another database, no database, or cannot be read.
    """
    try:
        found = strangeness(path, _is_memory)
    except sqlite3.DatabaseError as error:
        raise explain(path, error) from error
    if found:
        raise StoreError(
            f"{path} is a database of another program ({found[0]}); it was not changed; use "
            "another path"
        )


def strangeness(path: Path, ours: Callable[[sqlite3.Connection], bool]) -> list[str]:
    """Returns what shows that a file is a database of another program, without changing it.

    Args:
        path: The file. Nothing is strange about one that is missing or empty.
        ours: Whether a database is of the kind that is expected.

    Raises:
        sqlite3.DatabaseError: It is no database, or damaged.
    """
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    try:
        if not path.is_file() or not path.stat().st_size:
            return []
        if index.exists() and log.exists():  # in use, or left behind by a crash
            return _look(path, "mode=ro", ours) or []
        found = _look(path, "mode=ro&immutable=1", ours)
        if found == [] and log.is_file() and log.stat().st_size:
            # The log cannot be read without an index, which would be left behind.
            found = _look_at_copy(path, log, ours)
        return found or []
    except PermissionError:
        return []  # SQLite says it better


def _is_memory(connection: sqlite3.Connection) -> bool:
    columns = connection.execute("PRAGMA table_info(migration)")
    return [name for _, name, *_ in columns] == LEDGER


def _look_at_copy(
    path: Path, log: Path, ours: Callable[[sqlite3.Connection], bool]
) -> list[str] | None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copyfile(path, copy)
        shutil.copyfile(log, copy.with_name("copy-wal"))
        return _look(copy, "mode=rw", ours)


def _look(path: Path, options: str, ours: Callable[[sqlite3.Connection], bool]) -> list[str] | None:
    """Returns what shows that a database is not ours, if anything; None if it is."""
    address = f"file:{quote(str(path.absolute()))}?{options}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        if ours(connection):
            return None
        execute = connection.execute
        names = sorted(name for (name,) in execute("SELECT name FROM sqlite_master"))
        found = [f"it contains {name!r}" for name in names]
        for name in ("application_id", "user_version"):
            (value,) = execute(f"PRAGMA {name}").fetchone()
            found += [f"its {name} is {value}"] if value else []
        return found
