"""Vector types and arithmetic."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float32]
Vectors: TypeAlias = npt.NDArray[np.float32]
Sum: TypeAlias = npt.NDArray[np.float64]

# How far from one the length of a unit vector may be; computing it in half precision takes it this
# far.
TOLERANCE = 1e-3


def unit(vectors: Vectors) -> Vectors:
    """Scales each row to length one; all-zero rows stay unchanged."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return (vectors / np.where(norms == 0, 1, norms)[:, None]).astype(np.float32)


def unit_vector(vector: npt.NDArray[np.floating]) -> Vector:
    """Scales a vector to length one; an all-zero vector stays unchanged."""
    norm = float(np.sqrt(np.dot(vector, vector)))
    return (vector / norm if norm else vector).astype(np.float32)


def best(scores: npt.NDArray[np.float32], count: int) -> list[int]:
    """Returns the positions of the highest scores, best first, ties by position."""
    if count <= 0 or not len(scores):
        return []
    if count < len(scores):
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    order = np.lexsort((places, -scores[places]))[:count]
    found: list[int] = places[order].tolist()
    return found


def vector_problem(found: Vector | Vectors) -> str | None:
    """Describes the first vector that is not of length one; None if all are."""
    vectors = np.atleast_2d(found)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= TOLERANCE))
    if not len(wrong):
        return None
    length = lengths[wrong[0]]
    kind = f"of length {length:.4g}" if np.isfinite(length) else "that is not finite"
    return f"a vector {kind}"
