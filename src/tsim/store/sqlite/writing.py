"""SQL statements that write the changes of a thread, within a transaction."""

import sqlite3

from tsim.state import Changes, Counters
from tsim.store.keys import key_of, span_of
from tsim.store.rows import new_rows, removed_ids, thread_sum
from tsim.store.sqlite.reader import SCRUB

# Tables with the rows of threads, each with its key column.
TABLES = {
    "turn": "key",
    "passage": "key",
    "sentence": "key",
    "episode": "key",
    "cluster": "key",
    "member": "cluster",
    "span": "key",
}
INSERTS = {
    "turn": "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "passage": "INSERT INTO passage VALUES (?, ?, ?, ?)",
    "sentence": "INSERT INTO sentence VALUES (?, ?, ?, ?)",
    "episode": "INSERT OR REPLACE INTO episode VALUES (?, ?, ?)",
    "cluster": "INSERT OR REPLACE INTO cluster VALUES (?, ?, ?, ?)",
    "member": "INSERT INTO member VALUES (?, ?, ?)",
    "span": "INSERT INTO span VALUES (?, ?, ?, ?)",
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
        (thread, now, *following, removing, thread_sum(thread, counters)),
    ).fetchall()
    return rows[0]


def _remove(connection: sqlite3.Connection, number: int, changes: Changes) -> None:
    for table, ids in removed_ids(changes).items():
        connection.executemany(
            f"DELETE FROM {table} WHERE {TABLES[table]} = ?",  # noqa: S608
            [(key_of(number, one),) for one in ids],
        )
    connection.executemany(
        "DELETE FROM span WHERE key = ? AND first = ?",
        [(key_of(number, last), first) for first, last in changes.removed_spans],
    )


def _insert(connection: sqlite3.Connection, number: int, changes: Changes) -> None:
    for table, rows in new_rows(number, changes).items():
        connection.executemany(INSERTS[table], rows)
