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
        logged = log.is_file() and log.stat().st_size > 0
        if index.exists() and log.exists():  # in use, or left behind by a crash
            found = _look(path, "mode=ro")
        elif not logged:
            found = _look(path, "mode=ro&immutable=1")
        else:  # the log cannot be read without an index, which would be left behind
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "copy"
                shutil.copyfile(path, copy)
                shutil.copyfile(log, copy.with_name("copy-wal"))
                found = _look(copy, "mode=rw")
    except sqlite3.DatabaseError as error:
        raise explain(path, error) from error
    except PermissionError:
        return  # SQLite says it better
    if found is not None:
        raise StoreError(
            f"{path} is a database of another program ({found}); it was not changed; use another "
            "path"
        )


def _look(path: Path, options: str) -> str | None:
    """Returns what shows that a database is not a memory; None if nothing does."""
    address = f"file:{quote(str(path.absolute()))}?{options}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        execute = connection.execute
        names = sorted(name for (name,) in execute("SELECT name FROM sqlite_master"))
        if names:
            ledger = [name for _, name, *_ in execute("PRAGMA table_info(migration)")]
            return None if ledger == LEDGER else f"it contains {names[0]!r}"
        for name in ("application_id", "user_version"):
            (value,) = execute(f"PRAGMA {name}").fetchone()
            if value:
                return f"its {name} is {value}"
    return None
