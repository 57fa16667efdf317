"""Chroma: the documents of a `PersistentClient`, one thread for each collection.

Embeddings are left out: they are those of another model, and are made again.
"""

import sqlite3
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter

from tsim.errors import InputError
from tsim.logs.fields import TIME, first, seconds_of
from tsim.migrate.taking import Taking
from tsim.types import Meta, NewTurn

KIND = "chroma"
FILE = "chroma.sqlite3"
TABLES = {
    "collections": {"id", "name"},
    "segments": {"id", "collection"},
    "embeddings": {"id", "segment_id", "embedding_id"},
    "embedding_metadata": {
        *("id", "key", "string_value", "int_value", "float_value", "bool_value"),
    },
}
DOCUMENT = "chroma:document"
# Where mem0 keeps texts in a collection.
DATA = "data"
ROLE = "document"

ROWS = """
SELECT collections.name, embeddings.id, embeddings.embedding_id, noted.key, noted.string_value,
       noted.int_value, noted.float_value, noted.bool_value
FROM embeddings
JOIN segments ON segments.id = embeddings.segment_id
JOIN collections ON collections.id = segments.collection
LEFT JOIN embedding_metadata AS noted ON noted.id = embeddings.id
ORDER BY collections.name, embeddings.id, noted.key
"""


def read(connection: sqlite3.Connection, taking: Taking) -> None:
    """Takes the documents of all collections, with their ids and metadata."""
    for (collection, _, name), rows in groupby(connection.execute(ROWS), key=itemgetter(0, 1, 2)):
        noted = dict(_values(rows))
        text = noted.pop(DOCUMENT, None)
        if text is None:
            text = noted.pop(DATA, None)
        if not isinstance(text, str) or not text.strip():
            taking.skipped["empty document"] += 1
            continue
        make = partial(_turn, str(name), text, noted, taking)
        taking.take(str(collection), f"{collection}, {name}", make)


def _turn(name: str, text: str, noted: Meta, taking: Taking) -> NewTurn:
    role = noted.get("role")
    meta = {key: value for key, value in noted.items() if key != "role"}
    _, when = first(noted, TIME)
    at = None
    try:
        at = None if when is None else seconds_of(when)
    except InputError:
        taking.skipped["unreadable time"] += 1
    speaker = role if isinstance(role, str) else ROLE
    return NewTurn(role=speaker, text=text, at=at, id=name, meta=taking.fitting(meta))


def _values(
    rows: Iterator[tuple[object, ...]],
) -> Iterator[tuple[str, str | int | float | bool | None]]:
    for *_, key, text, whole, number, truth in rows:
        if key is None:
            continue
        if truth is not None:
            yield str(key), bool(truth)
        else:
            found = next((one for one in (text, whole, number) if one is not None), None)
            yield str(key), found if isinstance(found, str | int | float) else None
