"""Reads one state of a memory within a transaction."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tsim.codec import sum_from_bytes, vector_from_bytes, vector_to_bytes
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
from tsim.store.nearest import Near, nearest
from tsim.store.postgres.failures import MENDING
from tsim.store.postgres.transactions import Rows, Statement, Transaction
from tsim.store.postgres.vectors import VectorArray, to_matrix
from tsim.store.rows import turn_of
from tsim.types import Turn
from tsim.vectors import Vector, Vectors

# Rows with vectors, and with texts, that are read at once.
PAGE, TEXTS = 4000, 500
OWN = "namespace = %s AND thread = %s"
# The columns that make a turn, as `turn_of` takes them.
TURN = "id, role, at, text, external, meta"
SETTINGS = "SELECT settings FROM tsim.memory WHERE namespace = %s"
# Vectors are read page by page, each from the last key of the one before.
TURNS = (
    f"SELECT id, vector, episode FROM tsim.turn WHERE {OWN} AND id > %s ORDER BY id LIMIT {PAGE}"
)
PASSAGES = (
    f"SELECT id, vector, start FROM tsim.passage WHERE {OWN} AND (id, start) > (%s, %s) "
    f"ORDER BY id, start LIMIT {PAGE}"
)
SENTENCES = PASSAGES.replace("passage", "sentence")
SPANS = (
    f"SELECT id, vector, first FROM tsim.span WHERE {OWN} AND (id, first) > (%s, %s) "
    f"ORDER BY id, first LIMIT {PAGE}"
)
# From those that end at the second-last turn before one.
LATEST_SPANS = SPANS.replace(
    "(%s, %s)",
    f"(coalesce((SELECT id FROM tsim.turn WHERE {OWN} AND id < %s "
    "ORDER BY id DESC LIMIT 1 OFFSET 1), 0), -1)",
)
EPISODES = f"SELECT id, vector FROM tsim.episode WHERE {OWN} AND id >= %s ORDER BY id"
CLUSTERS = f"SELECT id, total, vector FROM tsim.cluster WHERE {OWN} ORDER BY id"
MEMBERS = f"SELECT id, episode FROM tsim.member WHERE {OWN} ORDER BY id, episode"
OPEN_TURNS = (
    f"SELECT {TURN} FROM tsim.turn WHERE {OWN} AND episode = (SELECT id FROM tsim.episode "
    f"WHERE {OWN} AND id = %s AND vector IS NULL) ORDER BY id"
)
# A turn is as near as the nearest of its passages.
NEAREST_TURNS = (
    f"SELECT id, vector FROM tsim.turn WHERE {OWN} "
    "ORDER BY vector <#> (%s::vector[])[1], id LIMIT %s"
)
NEAREST_PASSAGES = (
    "SELECT id, vector FROM (SELECT DISTINCT ON (id) id, vector, "
    "vector <#> (%s::vector[])[1] AS away "
    f"FROM tsim.passage WHERE {OWN} ORDER BY id, away) AS best ORDER BY away, id LIMIT %s"
)
# Nearest turns that are read in addition, because the server rounds in another way than we do.
MORE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The row of a thread."""

    number: int
    version: int
    epoch: int
    counters: Counters


def head_query(namespace: str, thread: str, *, lock: bool = False) -> Statement:
    """Selects the row of a thread, as `head_of` takes it."""
    query = (
        "SELECT id, version, epoch, next_turn, next_episode, next_cluster FROM tsim.thread "
        f"WHERE namespace = %s AND name = %s{' FOR UPDATE' if lock else ''}"
    )
    return query, (namespace, thread)


def head_of(rows: Rows) -> Head | None:
    """Makes the head of a thread from its row, if there is one."""
    for number, version, epoch, turn, episode, cluster in rows:
        counters = Counters(turn=turn, episode=episode, cluster=cluster)
        return Head(number=number, version=version, epoch=epoch, counters=counters)
    return None


class PostgresReader:
    """Reads threads within a transaction, which sees one state of the database."""

    def __init__(
        self, transaction: Transaction, *, namespace: str, location: str, vector_type: int
    ) -> None:
        """Uses a transaction that others do not use meanwhile.

        Args:
            transaction: The transaction.
            namespace: The namespace of the memory.
            location: The name of the memory in messages.
            vector_type: The number of the type of vectors.
        """
        self._transaction: Transaction | None = transaction
        self._namespace = namespace
        self._location = location
        self._vector_type = vector_type
        self._heads: dict[str, Head | None] = {}

    def end(self) -> None:
        """Stops using the transaction."""
        self._transaction = None

    def settings(self) -> dict[str, str]:
        """Returns the settings of the memory."""
        (rows,) = self._run((SETTINGS, (self._namespace,)))
        return settings_of(rows)

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        query = "SELECT name FROM tsim.thread WHERE namespace = %s ORDER BY name"
        (rows,) = self._run((query, (self._namespace,)))
        return [name for (name,) in rows]

    def version(self, thread: str) -> tuple[int, int]:
        """Returns the version and epoch of a thread, or (0, 0) if it does not exist."""
        head = self._head(thread)
        return (head.version, head.epoch) if head else (0, 0)

    def load(self, thread: str) -> ThreadState:
        """Reads a thread; an unknown thread is empty."""
        return self.load_since(thread, turn=0, episode=0)

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        """Reads what was added to a thread within the same epoch."""
        head = self._head(thread)
        if head is None:
            return EMPTY
        try:
            return self._state(head, turn, episode)
        except ValueError as error:  # of numpy, if bytes are missing
            raise self._damaged(f"thread {thread!r}: {error}") from error

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of the given episodes; an unknown episode has none."""
        found: dict[int, list[Turn]] = {episode: [] for episode in episodes}
        query = (
            f"SELECT episode, {TURN} FROM tsim.turn WHERE {OWN} AND episode = ANY(%s) ORDER BY id"
        )
        for episode, *turn in self._of(thread, query, [*episodes]):
            found[episode] += self._turns([turn])
        return found

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads the given turns in order of their ids; unknown ids are skipped."""
        query = f"SELECT {TURN} FROM tsim.turn WHERE {OWN} AND id = ANY(%s) ORDER BY id"
        return self._turns(self._of(thread, query, [*ids]))

    def turns_called(self, thread: str, external_ids: Sequence[str]) -> dict[str, Turn]:
        """Reads the turns with the given external ids; ids that no turn has are left out."""
        possible = [name for name in external_ids if "\0" not in name]
        query = f"SELECT {TURN} FROM tsim.turn WHERE {OWN} AND external = ANY(%s)"
        rows = self._of(thread, query, possible) if possible else []
        return {str(turn.external_id): turn for turn in self._turns(rows)}

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        head = self._head(thread)
        return self._turns(self._run(self._open_query(head))[0]) if head else []

    def count(self, thread: str) -> int:
        """Returns the number of turns of a thread."""
        found = self._of(thread, f"SELECT count(*) FROM tsim.turn WHERE {OWN}")
        return int(found[0][0]) if found else 0

    def last_turns(self, thread: str, limit: int) -> list[Turn]:
        """Reads the last turns of a thread, in order."""
        query = f"SELECT {TURN} FROM tsim.turn WHERE {OWN} ORDER BY id DESC LIMIT %s"
        return self._turns(self._of(thread, query, limit)[::-1])

    def all_turns(
        self, thread: str, first: int = 0, limit: int | None = None
    ) -> Iterator[tuple[int, Turn]]:
        """Reads turns in order, from id `first`, at most `limit`, each with its episode."""
        query = (
            f"SELECT episode, {TURN} FROM tsim.turn WHERE {OWN} AND id >= %s ORDER BY id LIMIT %s"
        )
        left = MAX_ID + 1 if limit is None else limit
        while left > 0:
            rows = self._of(thread, query, first, min(TEXTS, left))
            turns = self._turns([row[1:] for row in rows])
            yield from ((row[0], turn) for row, turn in zip(rows, turns, strict=True))
            left -= len(rows)
            if len(rows) < TEXTS:
                return
            first = turns[-1].id + 1

    def nearest(self, thread: str, query: Vector, limit: int) -> list[Near]:
        """Returns the turns nearest to a unit vector, best first, with their cosines.

        The server looks at all of them, and sends few.
        """
        head = self._head(thread)
        if head is None:
            return []
        own, near = (self._namespace, head.number), [vector_to_bytes(query)]
        array = VectorArray(near, self._vector_type)
        blocks = self._run(
            (NEAREST_TURNS, (*own, array, limit + MORE)),
            (NEAREST_PASSAGES, (array, *own, limit + MORE)),
        )
        return nearest(
            (
                ([turn for turn, _ in rows], to_matrix([vector for _, vector in rows]))
                for rows in blocks
                if rows
            ),
            query,
            limit,
        )

    def _state(self, head: Head, turn: int, episode: int) -> ThreadState:
        counters = (head.counters.turn, head.counters.episode, head.counters.cluster)
        if not all(0 <= counter <= MAX_ID + 1 for counter in counters):
            raise ValueError(f"its counters are {counters}")
        own = (self._namespace, head.number)
        turns, passages, sentences, spans, opened, episodes, clusters, members = self._run(
            (TURNS, (*own, turn - 1)),
            (PASSAGES, (*own, turn, -1)),
            (SENTENCES, (*own, turn, -1)),
            (LATEST_SPANS, (*own, *own, turn)),
            self._open_query(head),
            (EPISODES, (*own, episode)),
            (CLUSTERS, own),
            (MEMBERS, own),
        )
        ids, turn_vectors, owners = self._columns(TURNS, head, turns, to_matrix)
        return ThreadState(
            version=head.version,
            epoch=head.epoch,
            counters=head.counters,
            turn_ids=ids,
            turn_episodes=owners,
            turn_vectors=turn_vectors,
            episodes=[
                EpisodeRow(id=number, vector=None if vector is None else vector_from_bytes(vector))
                for number, vector in episodes
            ],
            clusters=_clusters(clusters, members),
            open_turns=self._turns(opened),
            spans=[] if turn == MAX_ID else self._spans(head, spans),
            passages=[
                PassageRow(turn=number, start=start, vector=vector)
                for number, vector, start in zip(
                    *self._columns(PASSAGES, head, passages, to_matrix), strict=True
                )
            ],
            sentences=[
                SentenceRow(turn=number, start=start, vector=vector)
                for number, vector, start in zip(
                    *self._columns(SENTENCES, head, sentences, _matrix), strict=True
                )
            ],
        )

    def _head(self, thread: str) -> Head | None:
        """Returns the row of a thread, which does not change within the transaction."""
        if thread not in self._heads:
            found = [] if "\0" in thread else self._run(head_query(self._namespace, thread))[0]
            self._heads[thread] = head_of(found)
        return self._heads[thread]

    def _of(self, thread: str, query: str, *values: Any) -> Rows:
        """Reads rows of a thread; an unknown thread has none."""
        head = self._head(thread)
        return self._run((query, (self._namespace, head.number, *values)))[0] if head else []

    def _open_query(self, head: Head) -> Statement:
        own = (self._namespace, head.number)
        return OPEN_TURNS, (*own, *own, head.counters.episode - 1)

    def _spans(self, head: Head, rows: Rows) -> list[SpanRow]:
        spans = [
            SpanRow(first=first, last=last, vector=vector)
            for last, vector, first in zip(*self._columns(SPANS, head, rows, _matrix), strict=True)
        ]
        return sorted(spans, key=lambda span: (span.first, span.last))

    def _columns(
        self, query: str, head: Head, rows: Rows, decode: Callable[[Sequence[bytes]], Vectors]
    ) -> tuple[list[int], Vectors, list[int]]:
        """Returns ids, vectors and one number per row, reading on from the first page.

        Raises:
            ValueError: Vectors have different lengths.
        """
        ids: list[int] = []
        numbers: list[int] = []
        blocks: list[Vectors] = []
        while rows:
            if len({len(vector) for _, vector, _ in rows}) > 1:
                raise ValueError("its vectors have different lengths")
            blocks.append(decode([vector for _, vector, _ in rows]))
            ids += [number for number, _, _ in rows]
            numbers += [number for _, _, number in rows]
            if len(rows) < PAGE:
                break
            last = (ids[-1],) if query is TURNS else (ids[-1], numbers[-1])
            (rows,) = self._run((query, (self._namespace, head.number, *last)))
        if len({block.shape[1] for block in blocks}) > 1:
            raise ValueError("its vectors have different lengths")
        return ids, np.concatenate(blocks) if blocks else EMPTY.turn_vectors, numbers

    def _turns(self, rows: Sequence[Sequence[Any]]) -> list[Turn]:
        try:
            return [turn_of(*row) for row in rows]
        except ValueError as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"{self._location} is damaged: {what}; {MENDING}")

    def _run(self, *statements: Statement) -> list[Rows]:
        if self._transaction is None:
            raise StoreError(f"this snapshot of {self._location} has ended; take a new one")
        return self._transaction.run(*statements)


def settings_of(rows: Rows) -> dict[str, str]:
    """Makes the settings of a memory from its row, if there is one."""
    return dict(sorted(rows[0][0].items())) if rows else {}


def _clusters(found: Rows, rows: Rows) -> list[ClusterRow]:
    members: dict[int, list[int]] = {}
    for cluster, episode in rows:
        members.setdefault(cluster, []).append(episode)
    return [
        ClusterRow(
            id=number,
            members=tuple(members.get(number, ())),
            total=sum_from_bytes(total),
            vector=vector_from_bytes(vector),
        )
        for number, total, vector in found
    ]


def _matrix(blobs: Sequence[bytes]) -> Vectors:
    return np.frombuffer(b"".join(blobs), dtype="<f4").astype(np.float32).reshape(len(blobs), -1)
