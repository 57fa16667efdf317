"""Rows: one JSON line a question, written once, durable. Everything shown is computed from them."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scaleqa.errors import DataError

Row = dict[str, Any]
# What may differ between two runs of the same thing.
TIMES = ("retrieve_ms", "answer_ms", "cached")


class RowFile:
    """The rows of one system on one package."""

    def __init__(self, path: Path) -> None:
        """Opens the file; a line torn by a crash is cut off."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.rows = read_rows(path) if path.exists() else []
        if path.exists() and path.read_bytes() != _lines(self.rows):
            write_rows(path, self.rows)
        self._file = path.open("a", encoding="utf-8")

    def append(self, row: Row) -> None:
        """Writes a row; it is on disk when this returns."""
        self._file.write(_line(row))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows.append(row)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def iterate(path: Path) -> Iterator[Row]:
    """Reads rows one by one; a last line without its end was never acknowledged and is left out.

    Lines are read as bytes: a crash may tear a character, and texts hold line separators of their
    own, U+2028 for one.

    Raises:
        DataError: Another line is damaged.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}, line {number} is damaged; remove the file") from error


def read_rows(path: Path) -> list[Row]:
    """Reads the rows of a file.

    Raises:
        DataError: A line is damaged.
    """
    return list(iterate(path))


def row_files(directory: Path) -> list[Path]:
    """Names the files of a run, in order."""
    return sorted(directory.rglob("*.jsonl"))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Writes rows, all or none, over what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(_lines(rows))
    part.replace(path)


def all_rows(directory: Path) -> list[Row]:
    """Reads all rows of a run.

    Raises:
        DataError: There are none.
    """
    rows = [row for file in row_files(directory) for row in iterate(file)]
    if not rows:
        raise DataError(f"{directory} holds no rows; make some with: scaleqa run")
    return rows


def _lines(rows: Iterable[Row]) -> bytes:
    return "".join(_line(row) for row in rows).encode()


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"
