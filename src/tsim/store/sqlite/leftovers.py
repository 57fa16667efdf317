"""Rows and indexes beside which former content is left, and how they are written anew."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from tsim.store.sqlite.residue import is_stale_index, stale_rows

# Tables and indexes with texts, names, or vectors made from texts.
TABLES = ("thread", "turn", "passage", "episode", "cluster", "span")
INDEXES = ("sqlite_autoindex_thread_1", "turn_by_external")
# Bytes up to which the image of a file is looked through in RAM.
LARGEST = 1 << 30
# Rows per statement.
SOME = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What has to be written anew.

    Attributes:
        rows: The row ids, by table.
        indexes: The names of indexes.
    """

    rows: Mapping[str, list[int]]
    indexes: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.rows or self.indexes)

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Self | None:
        """Looks through the state of the file that a connection sees.

        Returns:
            None if the file is too large for that, or SQLite was built without images of files.
        """
        size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        if connection.execute(size).fetchone()[0] > LARGEST or not hasattr(connection, "serialize"):
            return None
        query = "SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0"
        roots: dict[str, int] = dict(connection.execute(query).fetchall())
        image = connection.serialize()
        rows = {name: stale_rows(image, roots[name]) for name in TABLES if name in roots}
        return cls(
            rows={name: found for name, found in rows.items() if found},
            indexes=tuple(
                name for name in INDEXES if name in roots and is_stale_index(image, roots[name])
            ),
        )

    def rewrite(self, connection: sqlite3.Connection) -> None:
        """Writes them anew, in a transaction: emptied pages are overwritten by `secure_delete`."""
        for table, rows in self.rows.items():
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            names = ", ".join(name for _, name, *_ in columns)
            if not any(key for *_, key in columns):
                names = f"rowid, {names}"
            kept: list[tuple[object, ...]] = []
            for start in range(0, len(rows), SOME):
                some = rows[start : start + SOME]
                where = f"FROM {table} WHERE rowid IN ({','.join('?' * len(some))})"
                kept += connection.execute(f"SELECT {names} {where}", some).fetchall()
                connection.execute(f"DELETE {where}", some)
            marks = ", ".join("?" * (names.count(",") + 1))
            connection.executemany(
                f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608
                kept,
            )
        for index in self.indexes:
            connection.execute(f"REINDEX {index}")
