"""Recognises memory files, without changing files that are none.

To open a SQLite file for writing may change it: its log is moved into it when it is closed, and
what was interrupted is rolled back. So a file is looked at read-only first.
"""

import shutil
import sqlite3
import tempfile
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
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    try:
        if not path.is_file() or not path.stat().st_size:
            return
        if index.exists() and log.exists():  # in use, or left behind by a crash
            found = _look(path, "mode=ro")
        else:
            found = _look(path, "mode=ro&immutable=1")
            if found == [] and log.is_file() and log.stat().st_size:
                # The log cannot be read without an index, which would be left behind.
                found = _look_at_copy(path, log)
    except sqlite3.DatabaseError as error:
        raise explain(path, error) from error
    except PermissionError:
        return  # SQLite says it better
    if found:
        raise StoreError(
            f"{path} is a database of another program ({found[0]}); it was not changed; use "
            "another path"
        )


def _look_at_copy(path: Path, log: Path) -> list[str] | None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copyfile(path, copy)
        shutil.copyfile(log, copy.with_name("copy-wal"))
        return _look(copy, "mode=rw")


def _look(path: Path, options: str) -> list[str] | None:
    """Returns what shows that a database is not a memory, if anything; None if it is one."""
    address = f"file:{quote(str(path.absolute()))}?{options}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        execute = connection.execute
        if [name for _, name, *_ in execute("PRAGMA table_info(migration)")] == LEDGER:
            return None
        names = sorted(name for (name,) in execute("SELECT name FROM sqlite_master"))
        found = [f"it contains {name!r}" for name in names]
        for name in ("application_id", "user_version"):
            (value,) = execute(f"PRAGMA {name}").fetchone()
            found += [f"its {name} is {value}"] if value else []
        return found
