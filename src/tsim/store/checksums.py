"""Checksums of rows, by which changed bytes are found.

Databases notice damage to their own structure, but not to what rows hold. A checksum is the crc32
of the values that it covers, with their types and lengths: it is computed as fast as the bytes are
read, and finds every change of up to 32 neighbouring bits, and all but one in four billion others.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tsim.store.keys import SHIFT, id_of

# The columns that each checksum covers, by table.
COVERED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "thread": {"crc": ("name", "next_turn", "next_episode", "next_cluster")},
    "turn": {
        "crc": ("key", "role", "at", "text", "external", "meta"),
        "vector_crc": ("key", "episode", "vector"),
    },
    "passage": {"crc": ("key", "start", "vector")},
    "sentence": {"crc": ("key", "start", "vector")},
    "episode": {"crc": ("key", "vector")},
    "cluster": {"crc": ("key", "total", "vector")},
    "member": {"crc": ("cluster", "episode")},
    "span": {"crc": ("key", "first", "vector")},
}
# What a row is called in messages, from the columns of its checksum.
CALLED = {
    ("thread", "crc"): "its name or its counters",
    ("turn", "crc"): "turn {key}",
    ("turn", "vector_crc"): "the vector of turn {key}",
    ("passage", "crc"): "the passage of turn {key} at character {start}",
    ("sentence", "crc"): "the sentence of turn {key} at character {start}",
    ("episode", "crc"): "episode {key}",
    ("cluster", "crc"): "cluster {key}",
    ("member", "crc"): "the episodes of cluster {cluster}",
    ("span", "crc"): "the span from turn {first} to {key}",
}


class RawText(bytes):
    """A text as it is stored, told apart from a blob, and maybe not UTF-8."""


def checksum(*values: object) -> int:
    """Returns the checksum of the values of a row.

    Texts are given as text or as they are stored.
    """
    crc = 0
    for value in values:
        match value:
            case RawText():
                kind, data = b"t", bytes(value)
            case bytes():
                kind, data = b"b", value
            case str():
                kind, data = b"t", value.encode()
            case float():
                kind, data = b"f", struct.pack("<d", value + 0.0)  # SQLite knows no negative zero
            case None:
                kind, data = b"n", b""
            case _:
                kind, data = b"i", str(value).encode()
        crc = zlib.crc32(data, zlib.crc32(b"%b%d:" % (kind, len(data)), crc))
    return crc


def changed_rows(
    table: str, rows: Iterable[Mapping[str, Any]], threads: Mapping[int, str]
) -> Iterator[str]:
    """Finds rows that are not what was written; yields what they are, with their thread.

    Args:
        table: The table they are from.
        rows: The rows, with their checksums and the columns that these cover, and the `id` of a
            thread.
        threads: The names of the threads, by number.
    """
    covered = COVERED[table]
    owner = "id" if table == "thread" else next(iter(covered.values()))[0]
    for row in rows:
        number = row[owner]
        if table != "thread":
            number = number >> SHIFT if isinstance(number, int) else None
        name = threads.get(number) if isinstance(number, int) else None
        where = f"thread {name!r}" if name is not None else f"thread number {number}"
        if name is None:
            yield f"{where}, which does not exist, has {_called(table, 'crc', row)}"
        for crc, each in covered.items():
            if row[crc] != checksum(*pick(row, each)):
                yield f"{where}: {_called(table, crc, row)} has changed since it was written"


def shown(value: object) -> str:
    """Returns a value as messages show it; what cannot be decoded is replaced."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text[:80]


def pick(row: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    """Returns the values of some columns."""
    return [row[name] for name in columns]


def _called(table: str, crc: str, row: Mapping[str, Any]) -> str:
    values = {
        name: id_of(value) if isinstance(value, int) and name in ("key", "cluster") else value
        for name, value in row.items()
    }
    return CALLED[table, crc].format_map({name: shown(value) for name, value in values.items()})
