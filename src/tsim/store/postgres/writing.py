"""SQL statements that write the changes of threads, within a transaction."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from psycopg.types.json import Jsonb

from tsim.errors import InputError
from tsim.state import Changes, Counters
from tsim.store.keys import id_of
from tsim.store.postgres.transactions import Statement
from tsim.store.postgres.vectors import VectorArray
from tsim.store.rows import new_rows, removed_ids, thread_sum

# The columns of rows that belong to threads, in the order of `new_rows`, and their types. The first
# stands for the key.
COLUMNS = {
    "turn": {
        "id": "bigint",
        "episode": "bigint",
        "role": "text",
        "at": "float8",
        "vector": "vector",
        "text": "text",
        "external": "text",
        "meta": "text",
        "crc": "bigint",
        "vector_crc": "bigint",
    },
    "passage": {"id": "bigint", "start": "bigint", "vector": "vector", "crc": "bigint"},
    "sentence": {"id": "bigint", "start": "bigint", "vector": "bytea", "crc": "bigint"},
    "episode": {"id": "bigint", "vector": "bytea", "crc": "bigint"},
    "cluster": {"id": "bigint", "total": "bytea", "vector": "bytea", "crc": "bigint"},
    "member": {"id": "bigint", "episode": "bigint", "crc": "bigint"},
    "span": {"id": "bigint", "first": "bigint", "vector": "bytea", "crc": "bigint"},
}
REPLACED = ("episode", "cluster")
# Rows that are sent in one statement.
MANY = 2000
# Former versions that a thread keeps.
FORMER = 16
NUL = "PostgreSQL has no texts with the character NUL"


def add_thread(
    namespace: str, name: str, version: int, counters: Counters, *, quietly: bool = False
) -> Statement:
    """Creates a thread; returns its number.

    Args:
        namespace: The namespace.
        name: The name of the thread.
        version: Its version and epoch.
        counters: The next ids.
        quietly: Whether to create nothing and return nothing if it exists.
    """
    require_texts(f"the name of thread {name!r:.80}", name)
    query = (
        "INSERT INTO tsim.thread (namespace, name, version, epoch, former, next_turn, "
        "next_episode, next_cluster, crc) VALUES (%s, %s, %s, %s, '{}', %s, %s, %s, %s) "
        f"{'ON CONFLICT DO NOTHING ' if quietly else ''}RETURNING id"
    )
    return query, (namespace, name, version, version, *_counted(name, counters))


def advance(
    namespace: str, number: int, name: str, versions: tuple[int, int], counters: Counters
) -> Statement:
    """Gives a thread its next version and epoch."""
    query = (
        f"UPDATE tsim.thread SET former = (version || former)[1:{FORMER}], version = %s, "
        "epoch = %s, next_turn = %s, next_episode = %s, next_cluster = %s, crc = %s "
        "WHERE namespace = %s AND id = %s"
    )
    return query, (*versions, *_counted(name, counters), namespace, number)


def write_rows(
    namespace: str, number: int, changes: Changes, *, vector_type: int
) -> Iterator[Statement]:
    """Yields what removes and writes the rows of a thread.

    Raises:
        InputError: A text cannot be represented; nothing is to be written then.
    """
    for table, ids in removed_ids(changes).items():
        if ids:
            query = (
                f"DELETE FROM tsim.{table} WHERE namespace = %s AND thread = %s AND id = ANY(%s)"
            )
            yield query, (namespace, number, [*ids])
    if changes.removed_spans:
        firsts, lasts = map(list, zip(*changes.removed_spans, strict=True))
        query = (
            "DELETE FROM tsim.span WHERE namespace = %s AND thread = %s AND (id, first) IN "
            "(SELECT * FROM unnest(%s::bigint[], %s::bigint[]))"
        )
        yield query, (namespace, number, lasts, firsts)
    for table, rows in new_rows(number, changes).items():
        left = iter(rows)
        while some := [*islice(left, MANY)]:
            yield _insert(table, namespace, number, some, vector_type)


def remove_rows(namespace: str, number: int | None = None) -> Iterator[Statement]:
    """Yields what removes all rows of a thread, or of all threads of the namespace."""
    for table in COLUMNS:
        if number is None:
            yield f"DELETE FROM tsim.{table} WHERE namespace = %s", (namespace,)
        else:
            query = f"DELETE FROM tsim.{table} WHERE namespace = %s AND thread = %s"
            yield query, (namespace, number)


def note_scrub(namespace: str, version: int) -> Statement:
    """Records that what was removed by a version may still be recoverable."""
    query = (
        "INSERT INTO tsim.memory (namespace, scrub) VALUES (%s, %s) "
        "ON CONFLICT (namespace) DO UPDATE SET scrub = excluded.scrub"
    )
    return query, (namespace, version)


def set_settings(namespace: str, settings: dict[str, str], *, keep: bool) -> Statement:
    """Records the settings of a memory, creating it if needed.

    Args:
        namespace: The namespace.
        settings: The settings.
        keep: Whether settings that exist keep their values.
    """
    for name, value in settings.items():
        require_texts(f"the setting {name!r:.80}", name, value)
    new = "excluded.settings || memory.settings" if keep else "excluded.settings"
    query = (
        "INSERT INTO tsim.memory AS memory (namespace, settings) VALUES (%s, %s) "
        f"ON CONFLICT (namespace) DO UPDATE SET settings = {new}"
    )
    return query, (namespace, Jsonb(settings))


def require_texts(what: str, *texts: str | None) -> None:
    """Raises an error if Postgres cannot represent a text."""
    if any(text is not None and "\0" in text for text in texts):
        raise InputError(f"{NUL}, which {what} has; nothing was written; remove it")


def _counted(name: str, counters: Counters) -> tuple[int, int, int, int]:
    following = (counters.turn, counters.episode, counters.cluster)
    return *following, thread_sum(name, counters)


def _insert(
    table: str, namespace: str, number: int, rows: Sequence[tuple[Any, ...]], vector_type: int
) -> Statement:
    columns = COLUMNS[table]
    arrays: list[Any] = [[*values] for values in zip(*rows, strict=True)]
    arrays[0] = [id_of(key) for key in arrays[0]]
    marks = []
    for place, kind in enumerate(columns.values()):
        marks.append("%s" if kind != "bytea" else "%b")
        if kind == "text":
            for identifier, text in zip(arrays[0], arrays[place], strict=True):
                require_texts(f"turn {identifier}", text)
        elif kind == "vector":
            arrays[place] = VectorArray(arrays[place], vector_type)
    names = ", ".join(columns)
    given = ", ".join(
        f"{mark}::{kind}[]" for mark, kind in zip(marks, columns.values(), strict=True)
    )
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name != "id")
    query = (
        f"INSERT INTO tsim.{table} (namespace, thread, {names}) "
        f"SELECT %s, %s, * FROM unnest({given}) "
        f"{f'ON CONFLICT (namespace, thread, id) DO UPDATE SET {changes}' * (table in REPLACED)}"
    )
    return query, (namespace, number, *arrays)
