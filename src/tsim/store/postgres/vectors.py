"""Vectors of the extension pgvector in their binary form.

That is two 16-bit numbers, the first of them the length, and 32-bit floats, all big-endian.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

from tsim.vectors import Vectors

HEAD = 4
# Dimensions, whether there are nulls, the type of the elements; their number, the first index.
ARRAY = struct.Struct(">iiIii")


@dataclass(frozen=True, slots=True)
class VectorArray:
    """Vectors that are sent as one array, given as little-endian bytes of equal length."""

    vectors: Sequence[bytes]
    kind: int  # the number of the type in this database


class VectorArrayDumper(Dumper):
    """Writes an array of vectors."""

    format = Format.BINARY

    def dump(self, obj: VectorArray) -> bytes:
        """Returns the binary form."""
        count = len(obj.vectors)
        if not count:
            return ARRAY.pack(0, 0, obj.kind, 0, 1)[:12]
        width = len(obj.vectors[0]) // 4
        rows = np.zeros(
            count,
            dtype=[("size", ">i4"), ("width", ">i2"), ("unused", ">i2"), ("values", ">f4", width)],
        )
        rows["size"] = HEAD + 4 * width
        rows["width"] = width
        rows["values"] = np.frombuffer(b"".join(obj.vectors), dtype="<f4").reshape(count, width)
        return ARRAY.pack(1, 0, obj.kind, count, 1) + rows.tobytes()


def register(adapters: AdaptersMap) -> None:
    """Lets a connection send arrays of vectors."""
    adapters.register_dumper(VectorArray, VectorArrayDumper)


def to_bytes(raw: bytes) -> bytes:
    """Returns a vector that was read as little-endian bytes."""
    return np.frombuffer(raw, dtype=">f4", offset=HEAD).astype("<f4").tobytes()


def to_matrix(raws: Sequence[bytes]) -> Vectors:
    """Returns vectors of equal length that were read, one in each row."""
    rows = np.frombuffer(b"".join(raws), dtype=np.uint8).reshape(len(raws), -1)
    return np.ascontiguousarray(rows[:, HEAD:]).view(">f4").astype(np.float32)
