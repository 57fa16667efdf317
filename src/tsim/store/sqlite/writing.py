"""SQL statements that write the changes of a thread, within a transaction."""

import sqlite3

from tsim.codec import meta_to_text, sum_to_bytes, vector_to_bytes
from tsim.state import Changes, Counters, TurnRow
from tsim.store.sqlite.checksums import checksum
from tsim.store.sqlite.keys import key_of, span_of
from tsim.store.sqlite.reader import SCRUB

# Tables with the rows of threads, each with its key column.
TABLES = {
    "turn": "key",
    "passage": "key",
    "episode": "key",
    "cluster": "key",
    "member": "cluster",
    "span": "key",
}


def write(
    connection: sqlite3.Connection, thread: str, changes: Changes, counters: Counters
) -> tuple[int, int]:
    """Writes the changes of a thread, creating it if needed; returns its version and epoch."""
    number, version, epoch = _advance(connection, thread, counters, removing=changes.removes)
    if changes.removes:
        note_scrub(connection, version)
    _remove(connection, number, changes)
    _insert(connection, number, changes)
    return version, epoch


def delete(connection: sqlite3.Connection, thread: str) -> bool:
    """Removes a thread with all its rows; returns whether it existed."""
    query = "DELETE FROM thread WHERE name = ? RETURNING id"
    rows = connection.execute(query, (thread,)).fetchall()
    for (number,) in rows:
        for table, column in TABLES.items():
            connection.execute(
                f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?",  # noqa: S608
                span_of(number),
            )
    return bool(rows)


def note_scrub(connection: sqlite3.Connection, time: int) -> None:
    """Records that what was removed at a time of the clock may still be recoverable."""
    connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (SCRUB, str(time)))


def tick(connection: sqlite3.Connection) -> int:
    """Advances the clock of the file; returns the time, which is never given again."""
    times = connection.execute("UPDATE clock SET now = now + 1 RETURNING now").fetchall()
    if len(times) != 1:
        raise sqlite3.DatabaseError(f"{len(times)} clocks, expected one")
    return int(times[0][0])


def _advance(
    connection: sqlite3.Connection, thread: str, counters: Counters, *, removing: bool
) -> tuple[int, int, int]:
    """Assigns the next version to a thread; returns its number, version and epoch."""
    following = (counters.turn, counters.episode, counters.cluster)
    now = tick(connection)
    rows: list[tuple[int, int, int]] = connection.execute(
        "INSERT INTO thread (name, version, epoch, next_turn, next_episode, next_cluster, crc) "
        "VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?7) ON CONFLICT (name) DO UPDATE SET version = ?2, "
        "epoch = iif(?6, ?2, epoch), next_turn = ?3, next_episode = ?4, next_cluster = ?5, "
        "crc = ?7 RETURNING id, version, epoch",
        (thread, now, *following, removing, checksum(thread, *following)),
    ).fetchall()
    return rows[0]


def _remove(connection: sqlite3.Connection, number: int, changes: Changes) -> None:
    removed = {
        "turn": changes.removed_turns,
        "passage": changes.removed_turns,
        "episode": changes.removed_episodes,
        "cluster": changes.removed_clusters,
        "member": (*changes.removed_clusters, *changes.rewritten),
    }
    for table, ids in removed.items():
        connection.executemany(
            f"DELETE FROM {table} WHERE {TABLES[table]} = ?",  # noqa: S608
            [(key_of(number, one),) for one in ids],
        )
    connection.executemany(
        "DELETE FROM span WHERE key = ? AND first = ?",
        [(key_of(number, last), first) for first, last in changes.removed_spans],
    )


def _insert(connection: sqlite3.Connection, number: int, changes: Changes) -> None:
    connection.executemany(
        "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (_turn(key_of(number, row.turn.id), row) for row in changes.turns),
    )
    connection.executemany(
        "INSERT INTO passage VALUES (?, ?, ?, ?)",
        (
            _summed(key_of(number, p.turn), p.start, vector_to_bytes(p.vector))
            for p in changes.passages
        ),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO episode VALUES (?, ?, ?)",
        (
            _summed(key_of(number, e.id), None if e.vector is None else vector_to_bytes(e.vector))
            for e in changes.episodes
        ),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO cluster VALUES (?, ?, ?, ?)",
        (
            _summed(key_of(number, c.id), sum_to_bytes(c.total), vector_to_bytes(c.vector))
            for c in changes.clusters
        ),
    )
    connection.executemany(
        "INSERT INTO member VALUES (?, ?, ?)",
        (_summed(key_of(number, cluster), episode) for cluster, episode in changes.memberships()),
    )
    connection.executemany(
        "INSERT INTO span VALUES (?, ?, ?, ?)",
        (
            _summed(key_of(number, s.last), s.first, vector_to_bytes(s.vector))
            for s in changes.spans
        ),
    )


def _turn(key: int, row: TurnRow) -> tuple[object, ...]:
    turn, vector = row.turn, vector_to_bytes(row.vector)
    at = None if turn.at is None else float(turn.at)
    meta = None if turn.meta is None else meta_to_text(turn.meta)
    said = (turn.text, turn.external_id, meta)
    words = checksum(key, turn.role, at, *said)
    return key, row.episode, turn.role, at, vector, *said, words, checksum(key, row.episode, vector)


def _summed(*values: object) -> tuple[object, ...]:
    """Returns a row with the checksum of all its values."""
    return *values, checksum(*values)
