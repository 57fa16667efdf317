"""Backups: a file that is complete or absent, readable by its owner alone."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tsim import unfinished
from tsim.errors import InputError, StoreFullError
from tsim.store.sqlite.reader import SCRUB


def place_copy(source: Path, path: Path, copy: Callable[[Path], None], *, overwrite: bool) -> None:
    """Writes a copy of a memory file to a temporary name and renames it into place.

    Args:
        source: The memory file.
        path: The file to write.
        copy: Writes a copy to an empty file.
        overwrite: Whether to replace an existing file.

    Raises:
        InputError: The file exists and `overwrite` is False, is the memory itself or in use, or
            cannot be written.
    """
    _require_free(source, path, overwrite=overwrite)
    try:
        with unfinished.replacing(path) as part:
            try:
                copy(part.path)
                _finish(part.path)
            except StoreFullError as error:
                raise StoreFullError(f"{path} cannot be written: the disk is full") from error
            _require_free(source, path, overwrite=overwrite)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


def _require_free(source: Path, path: Path, *, overwrite: bool) -> None:
    if path.is_file() and path.samefile(source):
        raise InputError(f"{path} is the memory itself; name another file")
    unfinished.require_free(path, overwrite=overwrite)


def _finish(part: Path) -> None:
    """Removes the note that a scrub is due, which is not true of a copy."""
    with closing(sqlite3.connect(part, isolation_level=None)) as connection:
        connection.execute("DELETE FROM setting WHERE name = ?", (SCRUB,))
