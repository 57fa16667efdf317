"""Reads one state of a memory file through one connection."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from tsim.codec import sum_from_bytes, vector_from_bytes
from tsim.errors import StoreError
from tsim.state import (
    EMPTY,
    MAX_ID,
    ClusterRow,
    Counters,
    EpisodeRow,
    PassageRow,
    SentenceRow,
    SpanRow,
    ThreadState,
)
from tsim.store.keys import MOST_THREADS, SHIFT, id_of, key_of, span_of
from tsim.store.nearest import Near, nearest
from tsim.store.rows import turn_of
from tsim.store.sqlite.added import ADDED
from tsim.store.sqlite.failures import MENDING
from tsim.types import Turn
from tsim.vectors import Vector, Vectors

READ = 500  # rows or ids per statement, below SQLite's smallest limit on parameters
# The setting that records that a scrub is due; internal to this store.
SCRUB = "scrub"
# The columns that make a turn, as `_turn` takes them.
TURN = "key, role, at, text, external, meta"
# What the columns of rows must be.
TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("key", "episode", "start", "first", "cluster", "id"), int),
    **dict.fromkeys(("version", "epoch", "next_turn", "next_episode", "next_cluster"), int),
    **dict.fromkeys(("role", "text", "name", "value"), str),
    **dict.fromkeys(("external", "meta"), str | None),
    "at": float | None,
    **dict.fromkeys(("vector", "total"), bytes),
}


class SqliteReader:
    """Reads threads within a transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection, location: str) -> None:
        """Uses a connection that is in a transaction.

        Args:
            connection: The connection.
            location: The name of the file in messages.
        """
        self._connection: sqlite3.Connection | None = connection
        self._location = location

    def end(self) -> None:
        """Stops using the connection, which may be reused by another reader."""
        self._connection = None

    def settings(self) -> dict[str, str]:
        """Returns the settings of the memory."""
        query = "SELECT name, value FROM setting WHERE name <> ? ORDER BY name"
        return dict(self._rows(query, (SCRUB,)))

    def scrub_due(self) -> str | None:
        """Returns a value that stands for removed content that may be recoverable, if there is."""
        rows = self._rows("SELECT value FROM setting WHERE name = ?", (SCRUB,))
        return rows[0][0] if rows else None

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        return [name for (name,) in self._rows("SELECT name FROM thread ORDER BY name")]

    def version(self, thread: str) -> tuple[int, int]:
        """Returns the version and epoch of a thread, or (0, 0) if it does not exist."""
        rows = self._rows("SELECT version, epoch FROM thread WHERE name = ?", (thread,))
        return rows[0] if rows else (0, 0)

    def load(self, thread: str) -> ThreadState:
        """Reads a thread; an unknown thread is empty."""
        return self.load_since(thread, turn=0, episode=0)

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        """Reads what was added to a thread within the same epoch."""
        query = (
            "SELECT version, epoch, next_turn, next_episode, next_cluster "
            "FROM thread WHERE name = ?"
        )
        rows = self._rows(query, (thread,))
        if not rows:
            return EMPTY
        number = self.number(thread)
        version, epoch, *counters = rows[0]
        if not all(0 <= counter <= MAX_ID + 1 for counter in counters):
            raise self._damaged(f"the counters of thread {thread!r} are {counters}")
        ids, owners, vectors = self._turn_columns(number, turn)
        return ThreadState(
            version=version,
            epoch=epoch,
            counters=Counters(turn=counters[0], episode=counters[1], cluster=counters[2]),
            turn_ids=ids,
            turn_episodes=owners,
            turn_vectors=vectors,
            episodes=self._episodes(number, episode),
            clusters=self._clusters(number),
            open_turns=self._open_turns(number),
            spans=self._spans(number, turn),
            passages=[
                PassageRow(turn=owner, start=start, vector=vector)
                for owner, start, vector in self._parts("passage", number, turn)
            ],
            sentences=[
                SentenceRow(turn=owner, start=start, vector=vector)
                for owner, start, vector in self._parts("sentence", number, turn)
            ],
        )

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of the given episodes; an unknown episode has none."""
        found: dict[int, list[Turn]] = {episode: [] for episode in episodes}
        number = self.number(thread)
        for some in _pieces(episodes):
            marks = ",".join("?" * len(some))
            query = (
                f"SELECT episode, {TURN} FROM turn "  # noqa: S608
                f"WHERE key >> {SHIFT} = ? AND episode IN ({marks}) ORDER BY key"
            )
            for episode, *turn in self._rows(query, (number, *some)):
                found[episode].append(self._turn(*turn))
        return found

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads the given turns in order of their ids; unknown ids are skipped."""
        found: list[Turn] = []
        number = self.number(thread)
        for some in _pieces(sorted({key_of(number, turn) for turn in ids})):
            marks = ",".join("?" * len(some))
            query = f"SELECT {TURN} FROM turn WHERE key IN ({marks}) ORDER BY key"  # noqa: S608
            found += [self._turn(*turn) for turn in self._rows(query, some)]
        return found

    def turns_called(self, thread: str, external_ids: Sequence[str]) -> dict[str, Turn]:
        """Reads the turns with the given external ids; ids that no turn has are left out."""
        found: dict[str, Turn] = {}
        number = self.number(thread)
        for some in _pieces(external_ids):
            marks = ",".join("?" * len(some))
            query = (
                f"SELECT external, {TURN} FROM turn "  # noqa: S608
                f"WHERE key >> {SHIFT} = ? AND external IN ({marks})"
            )
            found |= {name: self._turn(*turn) for name, *turn in self._rows(query, (number, *some))}
        return found

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        return self._open_turns(self.number(thread))

    def count(self, thread: str) -> int:
        """Returns the number of turns of a thread."""
        # Counted in the index on this expression, which is small; rows have vectors and texts.
        query = f"SELECT count(*) FROM turn WHERE key >> {SHIFT} = ?"  # noqa: S608
        ((count,),) = self._rows(query, (self.number(thread),))
        return int(count)

    def last_turns(self, thread: str, limit: int) -> list[Turn]:
        """Reads the last turns of a thread, in order."""
        query = (
            f"SELECT {TURN} FROM turn "  # noqa: S608
            "WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT ?"
        )
        rows = self._rows(query, (*span_of(self.number(thread), 0), limit))
        return [self._turn(*turn) for turn in reversed(rows)]

    def all_turns(
        self, thread: str, first: int = 0, limit: int | None = None
    ) -> Iterator[tuple[int, Turn]]:
        """Reads turns in order, from id `first`, at most `limit`, each with its episode."""
        query = (
            f"SELECT episode, {TURN} FROM turn "  # noqa: S608
            "WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?"
        )
        number = self.number(thread)
        left = MAX_ID + 1 if limit is None else limit
        while left > 0:
            rows = self._rows(query, (*span_of(number, first), min(READ, left)))
            yield from ((episode, self._turn(*turn)) for episode, *turn in rows)
            left -= len(rows)
            if len(rows) < READ:
                return
            if id_of(rows[-1][1]) < first:
                raise self._damaged("its turns are out of order")
            first = id_of(rows[-1][1]) + 1

    def nearest(self, thread: str, query: Vector, limit: int) -> list[Near]:
        """Returns the turns nearest to a unit vector, best first: their ids and cosines."""
        number = self.number(thread)
        tables = ("turn", "passage")
        return nearest((b for table in tables for b in self._blocks(table, number)), query, limit)

    def number(self, thread: str) -> int:
        """Returns the number of a thread, or 0, which no thread has, if it does not exist."""
        rows = self._rows("SELECT id FROM thread WHERE name = ?", (thread,))
        if rows and not 0 < rows[0][0] < MOST_THREADS:
            raise self._damaged(f"thread {thread!r} has the number {rows[0][0]}")
        return rows[0][0] if rows else 0

    def _turn_columns(self, number: int, first: int) -> tuple[list[int], list[int], Vectors]:
        """Reads ids, episodes and vectors of turns."""
        query = "SELECT key, vector, episode FROM turn WHERE key BETWEEN ? AND ? ORDER BY key"
        keys, vectors, owners = self._columns("turn", query, span_of(number, first))
        return [id_of(key) for key in keys], owners, vectors

    def _blocks(self, table: str, number: int) -> Iterator[tuple[list[int], Vectors]]:
        """Reads vectors of turns or passages block by block, with the ids of their turns."""
        query = f"SELECT key, vector FROM {table} WHERE key BETWEEN ? AND ? ORDER BY key"  # noqa: S608
        with closing(self._execute(query, span_of(number))) as rows:
            while some := self._typed(rows, rows.fetchmany(READ)):
                sizes = {len(vector) for _, vector in some}
                if len(sizes) > 1 or sizes.pop() % 4:
                    raise self._damaged("it has vectors of different lengths")
                block = np.frombuffer(b"".join(vector for _, vector in some), dtype="<f4")
                yield [id_of(key) for key, _ in some], block.reshape(len(some), -1)

    def _parts(self, table: str, number: int, first: int) -> Iterator[tuple[int, int, Vector]]:
        """Reads parts of turns: the turn of each, where it begins, and its vector."""
        added = ADDED.get(table)
        if added and not self._rows("SELECT 1 FROM migration WHERE number = ?", (added,)):
            return iter(())  # an older file that is only read
        query = (
            f"SELECT key, vector, start FROM {table} "  # noqa: S608
            "WHERE key BETWEEN ? AND ? ORDER BY key, start"
        )
        keys, vectors, starts = self._columns(table, query, span_of(number, first))
        return zip(map(id_of, keys), starts, vectors, strict=True)

    def _episodes(self, number: int, first: int) -> list[EpisodeRow]:
        bounds = span_of(number, first)
        open_keys = self._rows(
            "SELECT key FROM episode WHERE key BETWEEN ? AND ? AND vector IS NULL ORDER BY key",
            bounds,
        )
        query = (
            "SELECT key, vector, 0 FROM episode WHERE key BETWEEN ? AND ? "
            "AND vector IS NOT NULL ORDER BY key"
        )
        keys, vectors, _ = self._columns("episode", query, bounds)
        closed = [EpisodeRow(id=id_of(k), vector=v) for k, v in zip(keys, vectors, strict=True)]
        return [*closed, *(EpisodeRow(id=id_of(key), vector=None) for (key,) in open_keys)]

    def _clusters(self, number: int) -> list[ClusterRow]:
        members: dict[int, list[int]] = {}
        rows = self._rows(
            "SELECT cluster, episode FROM member WHERE cluster BETWEEN ? AND ? "
            "ORDER BY cluster, episode",
            span_of(number),
        )
        for cluster, episode in rows:
            members.setdefault(cluster, []).append(episode)
        found = self._rows(
            "SELECT key, total, vector FROM cluster WHERE key BETWEEN ? AND ? ORDER BY key",
            span_of(number),
        )
        if any(len(total) % 8 or len(vector) % 4 for _, total, vector in found):
            raise self._damaged("a cluster has half a number")
        return [
            ClusterRow(
                id=id_of(key),
                members=tuple(members.get(key, ())),
                total=sum_from_bytes(total),
                vector=vector_from_bytes(vector),
            )
            for key, total, vector in found
        ]

    def _spans(self, number: int, turn: int) -> list[SpanRow]:
        """Reads the spans that end at the second-last turn before `turn`, or later."""
        if turn == MAX_ID:
            return []
        before = self._rows(
            "SELECT key FROM turn WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1 OFFSET 1",
            (key_of(number, 0), key_of(number, turn) - 1),
        )
        query = "SELECT key, vector, first FROM span WHERE key BETWEEN ? AND ? ORDER BY key, first"
        bounds = span_of(number, id_of(before[0][0]) if before else 0)
        keys, vectors, firsts = self._columns("span", query, bounds)
        spans = [
            SpanRow(first=first, last=id_of(key), vector=vector)
            for first, key, vector in zip(firsts, keys, vectors, strict=True)
        ]
        return sorted(spans, key=lambda span: (span.first, span.last))

    def _open_turns(self, number: int) -> list[Turn]:
        """Reads the turns of the newest episode, unless it is closed or was forgotten."""
        query = (
            f"SELECT {TURN} FROM turn WHERE key >> 32 = ?1 AND episode = "  # noqa: S608
            "(SELECT next_episode - 1 FROM thread JOIN episode ON key = (?1 << 32) + next_episode "
            "- 1 WHERE id = ?1 AND vector IS NULL) ORDER BY key"
        )
        return [self._turn(*row) for row in self._rows(query, (number,))]

    def _turn(self, key: int, *said: Any) -> Turn:
        try:
            return turn_of(id_of(key), *said)
        except ValueError as error:
            raise self._damaged(str(error)) from error

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with closing(self._execute(query, values)) as cursor:
            return self._typed(cursor, cursor.fetchall())

    def _typed(self, cursor: sqlite3.Cursor, rows: list[Any]) -> list[Any]:
        """Checks the types of rows, which SQLite does not: damage may have changed them."""
        names = [name for name, *_ in cursor.description]
        kinds = [TYPES.get(name, object) for name in names]
        for row in rows:
            if not all(map(isinstance, row, kinds)):
                wrong = next(n for n, kind in enumerate(kinds) if not isinstance(row[n], kind))
                found = type(row[wrong]).__name__
                raise self._damaged(f"the {names[wrong]} of a row is of the type {found}")
        return rows

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"{self._location} is damaged: {what}; {MENDING}")

    def _execute(self, query: str, values: Sequence[Any]) -> sqlite3.Cursor:
        if self._connection is None:
            raise StoreError(f"this snapshot of {self._location} has ended; take a new one")
        return self._connection.execute(query, values)

    def _columns(
        self, table: str, query: str, bounds: tuple[int, int]
    ) -> tuple[list[int], Vectors, list[int]]:
        """Reads keys, vectors and one number per row, with the vectors in one matrix."""
        size = f"SELECT count(*) FROM {table} WHERE key BETWEEN ? AND ?"  # noqa: S608
        ((count,),) = self._rows(size, bounds)
        keys: list[int] = []
        numbers: list[int] = []
        vectors = np.empty((0, 0), dtype=np.float32)
        with closing(self._execute(query, bounds)) as rows:
            while some := self._typed(rows, rows.fetchmany(READ)):
                if len(keys) + len(some) > count or len(some[0][1]) % 4:
                    raise self._damaged("its rows and their number differ")
                if not keys:
                    vectors = np.empty((count, len(some[0][1]) // 4), dtype=np.float32)
                if {len(row[1]) for row in some} != {4 * vectors.shape[1]}:
                    raise self._damaged("it has vectors of different lengths")
                block = np.frombuffer(b"".join(row[1] for row in some), dtype="<f4")
                vectors[len(keys) : len(keys) + len(some)] = block.reshape(len(some), -1)
                keys += [row[0] for row in some]
                numbers += [row[2] for row in some]
        return keys, vectors[: len(keys)], numbers


def _pieces(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (ids[start : start + READ] for start in range(0, len(ids), READ))
