"""Checksums of rows, by which changed bytes are found.

SQLite notices damage to its own structure, but not to what rows hold. A checksum is the crc32 of
the values that it covers, with their types and lengths: it is computed as fast as the bytes are
read, and finds every change of up to 32 neighbouring bits, and all but one in four billion others.
"""

import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tsim.store.sqlite.keys import SHIFT, id_of

# The columns that each checksum covers, by table.
COVERED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "thread": {"crc": ("name", "next_turn", "next_episode", "next_cluster")},
    "turn": {
        "crc": ("key", "role", "at", "text", "external", "meta"),
        "vector_crc": ("key", "episode", "vector"),
    },
    "passage": {"crc": ("key", "start", "vector")},
    "episode": {"crc": ("key", "vector")},
    "cluster": {"crc": ("key", "total", "vector")},
    "member": {"crc": ("cluster", "episode")},
    "span": {"crc": ("key", "first", "vector")},
}
# What a row is called in messages, from the columns of its checksum.
CALLED = {
    ("thread", "crc"): "its name or its counters",
    ("turn", "crc"): "turn {key}",
    ("turn", "vector_crc"): "the vector of turn {key}",
    ("passage", "crc"): "the passage of turn {key} at character {start}",
    ("episode", "crc"): "episode {key}",
    ("cluster", "crc"): "cluster {key}",
    ("member", "crc"): "the episodes of cluster {cluster}",
    ("span", "crc"): "the span from turn {first} to {key}",
}
PAGE = 500


class RawText(bytes):
    """A text as it is stored, told apart from a blob, and maybe not UTF-8."""


def checksum(*values: object) -> int:
    """Returns the checksum of the values of a row.

    Texts are given as text or as they are stored.
    """
    crc = 0
    for value in values:
        match value:
            case RawText():
                kind, data = b"t", bytes(value)
            case bytes():
                kind, data = b"b", value
            case str():
                kind, data = b"t", value.encode()
            case float():
                kind, data = b"f", struct.pack("<d", value + 0.0)  # SQLite knows no negative zero
            case None:
                kind, data = b"n", b""
            case _:
                kind, data = b"i", str(value).encode()
        crc = zlib.crc32(data, zlib.crc32(b"%b%d:" % (kind, len(data)), crc))
    return crc


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
            columns = [*dict.fromkeys(column for each in covered.values() for column in each)]
            keys = ("cluster", "episode") if table == "member" else ("rowid",)
            changes = ", ".join(f"{name} = ?" for name in covered)
            at = " AND ".join(f"{key} = ?" for key in keys)
            for page in _pages(connection, table, keys, columns):
                connection.executemany(
                    f"UPDATE {table} SET {changes} WHERE {at}",  # noqa: S608
                    [
                        (*(checksum(*_pick(row, each)) for each in covered.values()), *key)
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
        for table, covered in COVERED.items():
            try:
                yield from _changed(connection, table, covered, threads)
            except sqlite3.Error as error:
                yield f"some rows ({table}) cannot be read: {error}"


def _changed(
    connection: sqlite3.Connection,
    table: str,
    covered: Mapping[str, tuple[str, ...]],
    threads: Mapping[int, str],
) -> Iterator[str]:
    columns = [*dict.fromkeys(name for crc, each in covered.items() for name in (crc, *each))]
    keys = ("cluster", "episode") if table == "member" else ("rowid",)
    owner = "id" if table == "thread" else columns[1]
    for page in _pages(connection, table, keys, [*columns, owner]):
        for _, row in page:
            number = row[owner]
            if table != "thread":
                number = number >> SHIFT if isinstance(number, int) else None
            name = threads.get(number) if isinstance(number, int) else None
            where = f"thread {name!r}" if name is not None else f"thread number {number}"
            if name is None:
                yield f"{where}, which does not exist, has {_called(table, 'crc', row)}"
            for crc, each in covered.items():
                if row[crc] != checksum(*_pick(row, each)):
                    yield f"{where}: {_called(table, crc, row)} has changed since it was written"


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
            yield number, _shown(name)
    except sqlite3.Error:
        return  # which reading the table for its checksums reports


def _called(table: str, crc: str, row: Mapping[str, Any]) -> str:
    values = {
        name: id_of(value) if isinstance(value, int) and name in ("key", "cluster") else value
        for name, value in row.items()
    }
    return CALLED[table, crc].format_map({name: _shown(value) for name, value in values.items()})


def _shown(value: object) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text[:80]


def _pick(row: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    return [row[name] for name in columns]


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
