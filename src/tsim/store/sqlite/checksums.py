"""Checksums of the rows of a memory file: computed for those of before, and compared."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tsim.store.checksums import COVERED, RawText, changed_rows, checksum, pick, shown
from tsim.store.sqlite.added import ADDED

PAGE = 500


@contextmanager
def raw_texts(connection: sqlite3.Connection) -> Iterator[None]:
    """Reads texts as they are stored, since damaged ones cannot be decoded."""
    connection.text_factory = RawText
    try:
        yield
    finally:
        connection.text_factory = str


def fill(connection: sqlite3.Connection) -> None:
    """Computes the checksums of all rows, which were written before there were any."""
    with raw_texts(connection):
        for table, covered in COVERED.items():
            if table in ADDED:  # whose rows have always had checksums
                continue
            columns = [*dict.fromkeys(column for each in covered.values() for column in each)]
            keys = ("cluster", "episode") if table == "member" else ("rowid",)
            changes = ", ".join(f"{name} = ?" for name in covered)
            at = " AND ".join(f"{key} = ?" for key in keys)
            for page in _pages(connection, table, keys, columns):
                connection.executemany(
                    f"UPDATE {table} SET {changes} WHERE {at}",  # noqa: S608
                    [
                        (*(checksum(*pick(row, each)) for each in covered.values()), *key)
                        for key, row in page
                    ],
                )


def changed(connection: sqlite3.Connection) -> Iterator[str]:
    """Finds rows that are not what was written; yields what they are, with their thread."""
    found = {name for _, name, *_ in connection.execute("PRAGMA table_info(turn)")}
    if "crc" not in found:
        yield (
            "it was written by an older version without checksums, so that changed bytes cannot be "
            "found; open it once for writing"
        )
        return
    with raw_texts(connection):
        threads = dict(_thread_names(connection))
        yield from _clock_behind(connection)
        applied = {number for (number,) in connection.execute("SELECT number FROM migration")}
        for table in COVERED:
            if table in ADDED and ADDED[table] not in applied:
                continue  # an older file that is only read
            try:
                yield from changed_rows(table, _rows(connection, table), threads)
            except sqlite3.Error as error:
                yield f"some rows ({table}) cannot be read: {error}"


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[dict[str, Any]]:
    columns = [name for crc, each in COVERED[table].items() for name in (crc, *each)]
    keys = ("cluster", "episode") if table == "member" else ("rowid",)
    owner = ["id"] if table == "thread" else []
    for page in _pages(connection, table, keys, [*dict.fromkeys(columns), *owner]):
        yield from (row for _, row in page)


def _clock_behind(connection: sqlite3.Connection) -> Iterator[str]:
    """Finds a clock that would give a version again, so that others would not see a change."""
    query = (
        "SELECT (SELECT count(*) FROM clock WHERE typeof(now) = 'integer') <> 1 OR EXISTS "
        "(SELECT * FROM thread, clock WHERE version > now OR epoch > version)"
    )
    try:
        ((behind,),) = connection.execute(query).fetchall()
    except sqlite3.Error as error:
        yield f"its clock cannot be read: {error}"
        return
    if behind:
        yield "its clock is behind its threads, so that changes may not be noticed by others"


def _thread_names(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    try:
        for number, name in connection.execute("SELECT id, name FROM thread"):
            yield number, shown(name)
    except sqlite3.Error:
        return  # which reading the table for its checksums reports


def _orderable(key: tuple[Any, ...]) -> bool:
    return all(isinstance(value, int) for value in key)


def _pages(
    connection: sqlite3.Connection, table: str, keys: Sequence[str], columns: Sequence[str]
) -> Iterator[list[tuple[tuple[Any, ...], dict[str, Any]]]]:
    """Reads a table page by page, so that it may be changed meanwhile: keys and rows."""
    names = ", ".join((*keys, *columns))
    order = ", ".join(keys)
    marks = ", ".join("?" * len(keys))
    query = (
        f"SELECT {names} FROM {table} WHERE ({order}) > ({marks}) "  # noqa: S608
        f"ORDER BY {order} LIMIT {PAGE}"
    )
    last: tuple[Any, ...] = (-(2**63),) * len(keys)
    while rows := connection.execute(query, last).fetchall():
        yield [
            (row[: len(keys)], dict(zip(columns, row[len(keys) :], strict=True))) for row in rows
        ]
        before, last = last, rows[-1][: len(keys)]
        if not _orderable(last) or last <= before:
            raise sqlite3.DatabaseError("its rows are out of order")
