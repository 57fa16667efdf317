"""Vectors as little-endian bytes and notes as JSON, for stores and exports."""

import json

import numpy as np

from tsim.types import Meta
from tsim.vectors import Sum, Vector


def vector_to_bytes(vector: Vector) -> bytes:
    """Encodes a vector as 32-bit floats."""
    return vector.astype("<f4").tobytes()


def vector_from_bytes(data: bytes) -> Vector:
    """Decodes a vector of 32-bit floats."""
    return np.frombuffer(data, dtype="<f4").astype(np.float32)


def sum_to_bytes(total: Sum) -> bytes:
    """Encodes a sum of vectors as 64-bit floats."""
    return total.astype("<f8").tobytes()


def sum_from_bytes(data: bytes) -> Sum:
    """Decodes a sum of vectors from 64-bit floats."""
    return np.frombuffer(data, dtype="<f8").astype(np.float64)


def meta_to_text(meta: Meta) -> str:
    """Encodes what was noted about a turn as JSON; equal notes give equal text."""
    return json.dumps(
        meta, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


def meta_from_text(text: str) -> Meta:
    """Decodes what was noted about a turn.

    Raises:
        ValueError: The text is not a JSON object.
    """
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {text:.80}")
    return value
