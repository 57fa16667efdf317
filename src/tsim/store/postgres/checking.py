"""Finds rows that have changed since they were written, and servers that may lose some."""

from collections.abc import Iterator
from typing import Any

from tsim.store.checksums import COVERED, changed_rows
from tsim.store.keys import SHIFT
from tsim.store.postgres.transactions import Transaction
from tsim.store.postgres.vectors import to_bytes

PAGE = 2000
# What the columns of checksums are called in tables of rows that belong to threads.
KEY = f"(thread << {SHIFT}) + id"
# The columns that tell rows of an id apart.
BESIDE = {"passage": "start", "sentence": "start", "member": "episode", "span": "first"}
VECTORS = ("turn", "passage")


def problems(transaction: Transaction, namespace: str) -> Iterator[str]:
    """Finds what is wrong with a memory; yields descriptions."""
    query = "SELECT name FROM pg_settings WHERE name IN (%s, %s) AND setting = 'off' ORDER BY name"
    unsafe, named = transaction.run(
        (query, ("fsync", "full_page_writes")),
        ("SELECT id, name FROM tsim.thread WHERE namespace = %s", (namespace,)),
    )
    for (name,) in unsafe:
        yield f"its server runs with {name} = off, so that a crash may lose or damage turns"
    threads: dict[int, str] = dict(named)
    for table in COVERED:
        yield from changed_rows(table, _rows(transaction, namespace, table), threads)


def _rows(transaction: Transaction, namespace: str, table: str) -> Iterator[dict[str, Any]]:
    covered = [name for crc, each in COVERED[table].items() for name in (crc, *each)]
    columns = [*dict.fromkeys(covered)]
    keys = ["id"]
    if table == "thread":
        columns.append("id")
    else:
        keys = ["thread", "id", *([BESIDE[table]] if table in BESIDE else [])]
    cluster = "key" if table != "member" else "cluster"
    names = ", ".join(f"{KEY} AS {name}" if name == cluster else name for name in columns)
    order, marks = ", ".join(keys), ", ".join(["%s"] * len(keys))
    query = (
        f"SELECT {names}, {order} FROM tsim.{table} WHERE namespace = %s AND "
        f"({order}) > ({marks}) ORDER BY {order} LIMIT {PAGE}"
    )
    last: tuple[Any, ...] = (-1,) * len(keys)
    while True:
        (rows,) = transaction.run((query, (namespace, *last)))
        for row in rows:
            found = dict(zip(columns, row, strict=False))
            if table in VECTORS:
                found["vector"] = to_bytes(found["vector"])
            yield found
        if len(rows) < PAGE:
            return
        last = rows[-1][-len(keys) :]
