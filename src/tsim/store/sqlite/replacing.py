"""Puts a mended file in the place of a damaged one, which is kept beside it."""

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from tsim.errors import StoreBusyError


def require_unused(path: Path) -> None:
    """Raises an error if others have a memory file open.

    Raises:
        StoreBusyError: They have.
    """
    try:
        with closing(sqlite3.connect(path, timeout=1.0, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreBusyError(
                f"{path} is in use; close it everywhere before it is repaired"
            ) from error
        # Otherwise it is damaged, which is why it is to be replaced.


def replace_damaged(path: Path, mended: Path) -> Path:
    """Renames a damaged file and its log, and puts a mended one in its place.

    There is a file of this name at every moment.

    Returns:
        Where the damaged file is now.
    """
    kept = path.with_name(f"{path.name}.damaged")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.damaged-{number}")
    try:
        os.link(path, kept)
    except OSError:  # a file system without links
        shutil.copy2(path, kept)
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        log.replace(kept.with_name(f"{kept.name}-wal"))
    with suppress(FileNotFoundError):
        path.with_name(f"{path.name}-shm").unlink()
    mended.replace(path)
    return kept
