"""Files of rows: one JSON line each, written once, synced, resumable."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from pydantic import ValidationError
from pydantic_core import from_json

from scaleqa.errors import DataError
from scaleqa.evaluate.former import former_name, upgraded
from scaleqa.evaluate.rows import VERSION, Row
from scaleqa.packages.check import NAME
from tsim import private, unfinished

# Where shards of a run are worked on, in its directory, and what judges said of its answers.
WORK, VERDICTS = ".work", "verdicts"


class RowFile:
    """The rows of one system on one package, on disk or, without a path, in memory alone.

    Nothing is written before `begin`: the rows that are there may belong to another run.
    """

    def __init__(
        self, path: Path | None, former: Path | None = None, *, parents: bool = True
    ) -> None:
        """Reads the rows that are there.

        Args:
            path: The file; None to keep rows in memory.
            former: Where an earlier version kept them, if not there.
            parents: Whether to create the directories it is in.
        """
        self.path = path
        self._parents = parents
        self._moved = former if path and former and not path.exists() and former.exists() else None
        source = self._moved or path
        self.rows: list[Row] = read_rows(source) if source and source.exists() else []
        self._file: TextIO | None = None

    def begin(self) -> None:
        """Opens the file; a line torn by a crash is removed, earlier versions are rewritten."""
        if self.path is None:
            return
        if self._moved or (self.path.exists() and self.path.read_bytes() != row_lines(self.rows)):
            write_rows(self.path, self.rows)
        if self._moved:
            self._moved.unlink()
        self._file = private.create(self.path, parents=self._parents).open("a", encoding="utf-8")

    def append(self, row: Row) -> None:
        """Writes a row; it is on disk when this returns."""
        if self._file:
            self._file.write(_line(row))
            self._file.flush()
            os.fsync(self._file.fileno())
        self.rows.append(row)

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()


def row_path(out: Path, system: str, package: str) -> Path:
    """Returns the file for the rows of a system on a package, which is below `out`.

    Raises:
        DataError: The names would lead elsewhere.
    """
    directory = re.sub(r"[^\w.=-]+", "_", system)
    if directory in ("", ".", "..") or not NAME.fullmatch(package):
        raise DataError(
            f"rows of system {system!r:.80} on package {package!r:.80} have no place below {out}; "
            "expected names of letters, digits, '_', '.', '=' and '-'"
        )
    return out / directory / f"{package}.jsonl"


def former_path(out: Path, system: str, package: str) -> Path | None:
    """Returns where version 1 kept the rows of a system that had another name then, if it did."""
    path = row_path(out, former_name(system), package)
    first = next(iterate(path, detail=False), None) if path.exists() else None
    return path if first and first.run.system == system else None


def iterate(path: Path, *, detail: bool = True) -> Iterator[Row]:
    """Reads rows one by one; a last line without its end was never acknowledged and is left out.

    Lines are read as bytes: a crash may tear a character, and texts hold line separators of their
    own, U+2028 for one.

    Args:
        path: The file.
        detail: Whether to keep what takes much room.

    Raises:
        DataError: A line is damaged, or no row.
    """
    with path.open("rb") as file:
        yield from read_lines(file, path, detail=detail)


def read_lines(file: BinaryIO, path: Path, *, detail: bool = True) -> Iterator[Row]:
    """Reads rows from a file that is open; `path` is for messages. See `iterate`.

    Raises:
        DataError: A line is damaged, or no row.
    """
    for place, line in enumerate(file):
        if not line.endswith(b"\n"):
            return
        yield read_row(_loaded(line, path, place), path, place, detail=detail)


def read_rows(path: Path) -> list[Row]:
    """Reads the rows of a file.

    Raises:
        DataError: A line is damaged, or no row.
    """
    return list(iterate(path))


def row_files(directory: Path) -> list[Path]:
    """Names the files of a run, in order, without what is still being worked on, and verdicts."""
    found = sorted(directory.rglob("*.jsonl"))
    beside = {WORK, VERDICTS}
    return [path for path in found if not beside & {*path.relative_to(directory).parts}]


def first_rows(out: Path) -> Iterator[tuple[Path, Row]]:
    """Reads the first row of every file that `row_path` may have named.

    Raises:
        DataError: A line is damaged, or no row.
    """
    for path in sorted(out.glob("*/*.jsonl")):
        for row in islice(iterate(path, detail=False), 1):
            yield path, row


def all_rows(directory: Path, *, detail: bool = True) -> list[Row]:
    """Reads all rows of a run.

    Raises:
        DataError: There are none, or a file holds something else.
    """
    rows = [row for file in row_files(directory) for row in iterate(file, detail=detail)]
    return some_rows(rows, directory)


def some_rows(rows: list[Row], directory: Path) -> list[Row]:
    """Returns the rows of a directory, if there are any.

    Raises:
        DataError: There are none.
    """
    if not rows:
        raise DataError(
            f"{directory} holds no rows; make some with: scaleqa run or scaleqa retrieve --out"
        )
    return rows


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Writes rows, all or none, over what was there."""
    write_whole(path, row_lines(rows))


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file, all or nothing, over what was there."""
    private.make_directory(path.parent)
    with unfinished.replacing(path) as part:
        part.file.write(content)


def read_row(found: Any, path: Path, place: int, *, detail: bool = True) -> Row:
    """Reads a row of any version.

    Args:
        found: What a line of JSON holds.
        path: Its file, for messages.
        place: The place of the line.
        detail: Whether to keep what takes much room.

    Raises:
        DataError: It is no row.
    """
    version = found.get("version", VERSION) if isinstance(found, dict) else VERSION
    if version != VERSION:
        raise DataError(
            f"{path}, line {place + 1} is a row of version {version!r:.40}, and this scaleqa reads "
            f"versions up to {VERSION}; use the scaleqa that wrote it"
        )
    try:
        known = upgraded({"place": place, **found})
        if not detail:
            known = {**known, "detail": None}
        return Row.model_validate(known)
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        raise DataError(
            f"{path}, line {place + 1} is no row of scaleqa run or scaleqa retrieve "
            f"({_first(error)}); name the directory that was given as --out"
        ) from error


def _loaded(line: bytes, path: Path, place: int) -> Any:
    try:
        return from_json(line)
    except ValueError as error:
        raise DataError(f"{path}, line {place + 1} is damaged; remove the file") from error


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        problem = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, problem['loc'])) or 'the line'}: {problem['msg']}"
    return f"{type(error).__name__}: {error}"


def row_lines(rows: Iterable[Row]) -> bytes:
    """Writes rows as the lines of a file."""
    return "".join(_line(row) for row in rows).encode()


def _line(row: Row) -> str:
    content = row.model_dump(mode="json", exclude_none=True, exclude={"judged"})
    return json.dumps(content, ensure_ascii=False, sort_keys=True) + "\n"
