"""Rows: one JSON line a question, written once, durable. Everything shown is computed from them."""

import json
import os
from pathlib import Path
from typing import Any

from scaleqa.errors import DataError

Row = dict[str, Any]
# What may differ between two runs of the same thing.
TIMES = ("retrieve_ms", "answer_ms")


class RowFile:
    """The rows of one system on one package."""

    def __init__(self, path: Path) -> None:
        """Opens the file; a line torn by a crash is cut off."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.rows = read_rows(path) if path.exists() else []
        whole = "".join(_line(row) for row in self.rows).encode()
        if path.exists() and path.read_bytes() != whole:
            part = path.with_suffix(".part")
            part.write_bytes(whole)
            part.replace(path)
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


def read_rows(path: Path) -> list[Row]:
    """Reads rows; a last line without its end was never acknowledged and is left out.

    Raises:
        DataError: Another line is damaged.
    """
    text = path.read_text("utf-8")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise DataError(f"{path}, line {number} is damaged; remove the file") from error
    return rows


def all_rows(directory: Path) -> list[Row]:
    """Reads all rows of a run.

    Raises:
        DataError: There are none.
    """
    files = sorted(directory.rglob("*.jsonl"))
    rows = [row for file in files for row in read_rows(file)]
    if not rows:
        raise DataError(f"{directory} holds no rows; make some with: scaleqa run")
    return rows


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"
