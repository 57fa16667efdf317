"""LangGraph: the items of a `SqliteStore`, as `tsim.adapters.langgraph.TsimStore` keeps them."""

import json
import sqlite3
from functools import partial

from tsim.adapters.items import DOT, thread_of, turn_of
from tsim.errors import InputError
from tsim.logs.fields import seconds_of
from tsim.migrate.taking import Taking
from tsim.types import NewTurn

KIND = "langgraph"
TABLES = {"store": {"prefix", "key", "value", "created_at", "updated_at"}}

ROWS = "SELECT prefix, key, value, created_at, updated_at FROM store ORDER BY prefix, rowid"


def read(connection: sqlite3.Connection, taking: Taking) -> None:
    """Takes the items of all namespaces; embeddings and times to live are left out."""
    for prefix, key, value, created, updated in connection.execute(ROWS):
        where = f"{prefix}, {key}"
        try:
            thread = thread_of(tuple(str(prefix).split(DOT)))
        except InputError as error:
            taking.refuse(where, error)
            continue
        taking.take(thread, where, partial(_turn, key, value, created, updated))


def _turn(key: object, value: object, created: object, updated: object) -> NewTurn:
    try:
        item = json.loads(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the value is no JSON ({error})") from error
    if not isinstance(item, dict):
        raise InputError(f"the value is {value!r:.80}; expected an object")
    return turn_of(
        str(key), item, created=seconds_of(created), updated=seconds_of(updated or created)
    )
