"""SQLite files of other programs, which are read and left as they were."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tsim.errors import InputError

MAGIC = b"SQLite format 3\x00"
# What a program that is still running has not put into the file yet.
BESIDE = "-wal"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Opens a file of SQLite to read it; nothing is written to it or beside it.

    Raises:
        InputError: It is none, or it is damaged.
    """
    try:
        with path.open("rb") as file:
            found = file.read(len(MAGIC))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if found != MAGIC:
        raise InputError(
            f"{path} is no SQLite file; expected the directory of a Chroma client, mem0's "
            "history.db or the file of a LangGraph store. Logs and exports are read by tsim add"
        )
    with _undisturbed(path) as place:
        try:
            with closing(sqlite3.connect(f"{place.as_uri()}?immutable=1", uri=True)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(f"{path} is damaged or cannot be read: {error}") from error


def columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Returns the names of a table's columns; none if there is no such table.

    A view is no table: what it computes may never end.
    """
    known = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
    ).fetchone()
    if not known:
        return frozenset()
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(str(name) for (name,) in rows)


@contextmanager
def _undisturbed(path: Path) -> Iterator[Path]:
    """Yields a file that nobody changes; a copy if a program has not written everything yet."""
    beside = Path(f"{path}{BESIDE}")
    if not beside.exists() or not beside.stat().st_size:
        yield path.resolve()
        return
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "copy.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(beside, f"{copy}{BESIDE}")
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield copy
