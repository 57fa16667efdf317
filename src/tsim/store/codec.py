"""How ids, turns and vectors are written in the file."""

import numpy as np

from tsim.types import Turn
from tsim.vectors import Sum, Vector

SHIFT = 32


def span_of(number: int, first: int) -> tuple[int, int]:
    """Bounds of a thread's keys, from an id on."""
    base = number << SHIFT
    return base + first, base + (1 << SHIFT) - 1


def id_of(key: int) -> int:
    """The id within its thread."""
    return key & ((1 << SHIFT) - 1)


def turn_of(key: int, role: str, at: float | None, text: str) -> Turn:
    """A turn from its columns."""
    return Turn(id=id_of(key), role=role, text=text, at=at)


def blob_of(vector: Vector) -> bytes:
    """A vector as bytes."""
    return vector.astype("<f4").tobytes()


def vector_of(blob: bytes) -> Vector:
    """A vector from bytes."""
    return np.frombuffer(blob, dtype="<f4").astype(np.float32)


def total_of(blob: bytes) -> Sum:
    """A double-precision sum from bytes."""
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)


def bytes_of(total: Sum) -> bytes:
    """A double-precision sum as bytes."""
    return total.astype("<f8").tobytes()
