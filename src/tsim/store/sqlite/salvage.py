"""Reads what is whole of a damaged memory file."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tsim.codec import meta_from_text, vector_from_bytes
from tsim.errors import StoreError
from tsim.state import MAX_ID
from tsim.store.checksums import COVERED, RawText, checksum
from tsim.store.keys import SHIFT, id_of
from tsim.store.sqlite.checksums import raw_texts
from tsim.store.sqlite.migrate import known, migrate
from tsim.store.sqlite.reader import SCRUB
from tsim.times import FIRST, LAST
from tsim.types import Turn
from tsim.vectors import Vector

HIGHEST = 2**63 - 1


@dataclass(slots=True, kw_only=True)
class SavedThread:
    """What is whole of a thread.

    Attributes:
        name: Its name, or one made from its number if the name is lost.
        next_turn: The id of the next turn that will be added to it.
        turns: Turns whose words are whole, in order.
        vectors: Vectors of these turns and their passages, where they are whole, by turn and the
            character at which the passage begins.
        lost: Ids of turns that are there but damaged.
    """

    name: str
    next_turn: int = 0
    turns: list[Turn] = field(default_factory=list)
    vectors: dict[tuple[int, int], Vector] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What is whole of a memory file.

    Attributes:
        settings: Settings that could be read.
        threads: The threads, by name.
        unread: Whether parts of the file could not be read at all, or its structure is damaged, so
            that turns may be missing that are not known to have existed.
    """

    settings: Mapping[str, str]
    threads: Sequence[SavedThread]
    unread: bool


def salvage(path: Path) -> Saved:
    """Reads what is whole, without changing the file.

    Raises:
        StoreError: Nothing can be read.
    """
    log = path.with_name(f"{path.name}-wal")
    # Without a log nothing need be written beside the file to read it.
    logged = log.is_file() and log.stat().st_size > 0
    uri = f"file:{quote(str(path.absolute()))}?mode=ro{'' if logged else '&immutable=1'}"
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            connection.execute("PRAGMA query_only = ON")
            with raw_texts(connection):
                return _Salvage(connection).all()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StoreError(
            f"nothing can be read from {path} ({error}); restore it from a backup or an export"
        ) from error


class _Salvage:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._unread = False
        tables = ("setting", "thread", "turn", "passage")
        found = {table: self._columns(table) for table in tables}
        self._sealed = "crc" in found["turn"]
        if not found["turn"]:
            raise sqlite3.DatabaseError("it has no turns")

    def all(self) -> Saved:
        self._unread = not self._sound()
        threads = self._threads()
        for row in self._rows("turn"):
            thread, turn = self._owner(threads, row["rowid"]), id_of(row["rowid"])
            words = self._turn(turn, row)
            if words is None:
                thread.lost.append(turn)
                continue
            thread.turns.append(words)
            self._keep(thread, turn, 0, row["vector"], whole=self._whole("turn", "vector_crc", row))
        for row in self._rows("passage"):
            if isinstance(row["key"], int) and isinstance(row["start"], int):
                thread = self._owner(threads, row["key"])
                whole = self._whole("passage", "crc", row)
                self._keep(thread, id_of(row["key"]), row["start"], row["vector"], whole=whole)
        for thread in threads.values():
            thread.turns.sort(key=lambda turn: turn.id)
            thread.lost = sorted({*thread.lost})
            last = max([-1, *(turn.id for turn in thread.turns), *thread.lost])
            thread.next_turn = min(max(thread.next_turn, last + 1), MAX_ID + 1)
        known = sorted(threads.values(), key=lambda thread: thread.name)
        return Saved(settings=self._settings(), threads=known, unread=self._unread)

    def _sound(self) -> bool:
        """Returns whether SQLite finds no damage: rows may be missing without an error."""
        try:
            found = self._connection.execute("PRAGMA integrity_check(1)").fetchall()
        except sqlite3.Error:
            return False
        return found == [(b"ok",)]

    def _columns(self, table: str) -> list[str]:
        """Returns the names of columns, as they should be: the schema may be damaged, too."""
        found = self._connection.execute(f"PRAGMA table_info({table})").fetchall()
        wanted = _schema()[table]
        if len(found) == len(wanted):
            return wanted
        return [_text(name) or "" for _, name, *_ in found]

    def _settings(self) -> dict[str, str]:
        found: dict[str, str] = {}
        try:
            for name, value in self._connection.execute("SELECT name, value FROM setting"):
                if (key := _text(name)) and key != SCRUB and (text := _text(value)) is not None:
                    found[key] = text
        except sqlite3.Error:
            self._unread = True
        return found

    def _threads(self) -> dict[int, SavedThread]:
        threads: dict[int, SavedThread] = {}
        for row in self._rows("thread"):
            name, following = _text(row["name"]), row["next_turn"]
            taken = {thread.name for thread in threads.values()}
            whole = self._whole("thread", "crc", row) and isinstance(following, int)
            if whole and name and name.strip() and name not in taken:
                threads[row["rowid"]] = SavedThread(name=name, next_turn=following)
            else:
                threads[row["rowid"]] = SavedThread(name=_made_up(row["rowid"], taken))
        return threads

    def _owner(self, threads: dict[int, SavedThread], key: int) -> SavedThread:
        number = key >> SHIFT
        if number not in threads:
            taken = {thread.name for thread in threads.values()}
            threads[number] = SavedThread(name=_made_up(number, taken))
        return threads[number]

    def _turn(self, number: int, row: Mapping[str, Any]) -> Turn | None:
        """Returns a turn whose words are whole; None if they are not."""
        role, text = _text(row["role"]), _text(row["text"])
        external, meta, at = row["external"], row["meta"], row["at"]
        timed = at is None or (isinstance(at, float) and FIRST <= at <= LAST)
        if not (self._whole("turn", "crc", row) and role and text and text.strip() and timed):
            return None
        try:
            noted = None if meta is None else meta_from_text(_text(meta) or "")
        except (ValueError, RecursionError):
            return None
        return Turn(id=number, role=role, text=text, at=at, external_id=_text(external), meta=noted)

    def _keep(
        self, thread: SavedThread, turn: int, start: int, vector: object, *, whole: bool
    ) -> None:
        if whole and isinstance(vector, bytes) and len(vector) % 4 == 0:
            thread.vectors[turn, start] = vector_from_bytes(vector)

    def _whole(self, table: str, crc: str, row: Mapping[str, Any]) -> bool:
        if not self._sealed:  # written before there were checksums
            return True
        return bool(row[crc] == checksum(*(row[name] for name in COVERED[table][crc])))

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Reads the rows of a table, passing over pages that cannot be read."""
        columns = self._columns(table)
        if not columns:
            return
        forward = f"SELECT rowid, * FROM {table} WHERE rowid >= ? ORDER BY rowid"  # noqa: S608
        first: int | None = 0
        while first is not None:
            try:
                for row in self._connection.execute(forward, (first,)):
                    if row[0] < first:
                        raise sqlite3.DatabaseError("rows are out of order")
                    first = row[0] + 1
                    yield _Row(zip(("rowid", *columns), row, strict=True))
                return
            except sqlite3.Error:
                self._unread = True
                first = self._next_readable(table, first)

    def _next_readable(self, table: str, first: int) -> int | None:
        """Returns where a table can be read again: the rows between are on a damaged page."""
        failing, working = first, first
        for step in range(HIGHEST.bit_length()):
            working = min(first + (1 << step), HIGHEST)
            if self._readable(table, working):
                break
            failing = working
        else:
            return None
        while working - failing > 1:
            middle = (failing + working) // 2
            if self._readable(table, middle):
                working = middle
            else:
                failing = middle
        return working

    def _readable(self, table: str, first: int) -> bool:
        query = f"SELECT * FROM {table} WHERE rowid >= ? ORDER BY rowid LIMIT 1"  # noqa: S608
        try:
            self._connection.execute(query, (first,)).fetchall()
        except sqlite3.Error:
            return False
        return True


class _Row(dict[str, Any]):
    """A row by the names of its columns; what it does not have is NULL."""

    def __missing__(self, name: str) -> None:
        return None


@cache
def _schema() -> Mapping[str, list[str]]:
    """Returns the columns of every table of a new memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known())
        query = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        return {
            table: [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            for (table,) in connection.execute(query).fetchall()
        }


def _text(value: object) -> str | None:
    """Returns a stored text, if it is one."""
    if not isinstance(value, RawText):
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _made_up(number: int, taken: set[str]) -> str:
    """Returns a name for a thread whose own is lost."""
    name = f"recovered-{number}"
    while name in taken:
        name += "-again"
    return name
