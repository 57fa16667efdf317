"""Vectors as little-endian bytes, for stores and exports."""

import numpy as np

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
