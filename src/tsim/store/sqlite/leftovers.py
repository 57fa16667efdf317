"""Pages and indexes with former content in their unused space, and how it is erased."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from tsim.store.sqlite.residue import Stale, is_stale_index, stale_pages

# Tables with texts, names, or vectors made from texts; each with a column that is in no index.
TABLES = {
    "thread": "next_cluster",
    "turn": "vector",
    "passage": "vector",
    "sentence": "vector",
    "episode": "vector",
    "cluster": "vector",
    "span": "vector",
}
# Indexes with names.
INDEXES = ("sqlite_autoindex_thread_1", "turn_by_external")
# Bytes up to which the image of a file is looked through in RAM.
LARGEST = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What has to be written anew.

    Attributes:
        pages: The pages, by table.
        indexes: The names of indexes.
    """

    pages: Mapping[str, Sequence[Stale]]
    indexes: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.pages or self.indexes)

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
        pages = {name: stale_pages(image, roots[name]) for name in TABLES if name in roots}
        return cls(
            pages={name: found for name, found in pages.items() if found},
            indexes=tuple(
                name for name in INDEXES if name in roots and is_stale_index(image, roots[name])
            ),
        )

    def erase(self, connection: sqlite3.Connection) -> None:
        """Erases it, in a transaction."""
        for table, pages in self.pages.items():
            for page in pages:
                _widen(connection, table, page)
        for index in self.indexes:
            connection.execute(f"REINDEX {index}")


def _widen(connection: sqlite3.Connection, table: str, page: Stale) -> None:
    """Lets a row fill its page for a moment."""
    column = TABLES[table]
    query = f"SELECT {column} FROM {table} WHERE rowid = ?"  # noqa: S608
    rows = connection.execute(query, (page.row,)).fetchall()
    if not rows:
        return  # removed since the page was looked at
    ((value,),) = rows
    size = page.room + (len(value) if isinstance(value, bytes) else 0)
    update = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"  # noqa: S608
    connection.execute(update, (bytes(size), page.row))
    connection.execute(update, (value, page.row))
