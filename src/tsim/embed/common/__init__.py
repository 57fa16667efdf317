"""What all vectors of a model have in common.

The vectors of some encoders are close to each other whatever the texts say (cosines of 0.7 to 1).
What is said is a small difference, which weights that were fitted for another model do not see. So
the mean vector is removed. For a model of many languages it comes from the same eight sentences in
17 languages, for others from the turns of a split of the benchmark (`bench/common.py`).

The vectors of joined encoders have most of their length in few directions, which come from the same
turns.
"""

from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from tsim.embed.protocol import Embedder
from tsim.vectors import Vector, Vectors, unit


@cache
def load(name: str) -> npt.NDArray[np.float32]:
    """Returns the mean vector of a model, or the directions of joined ones, one per column."""
    with (resources.files("tsim.embed.common") / f"{name}.npy").open("rb") as file:
        found: npt.NDArray[np.floating] = np.load(file, allow_pickle=False)
    return found.astype(np.float32)


def remove(vectors: Vectors, mean: Vector) -> Vectors:
    """Removes the mean vector and scales the rest to length 1."""
    return unit(vectors - mean)


def project(vectors: Vectors, directions: Vectors) -> Vectors:
    """Keeps some directions and scales the rest to length 1."""
    # Row by row: a product of matrices may sum in another order for more rows.
    return unit(np.matmul(vectors[:, None, :], directions)[:, 0])


def principal(vectors: Vectors, count: int) -> Vectors:
    """Returns the directions with most of the length of some vectors, one per column."""
    rows = vectors.astype(np.float64)
    found: npt.NDArray[np.float64] = np.linalg.eigh(rows.T @ rows)[1][:, : -count - 1 : -1]
    # A direction has no sign of its own.
    heaviest = np.abs(found).argmax(axis=0)
    out: Vectors = (found * np.sign(found[heaviest, np.arange(count)])).astype(np.float32)
    return out


def measure(embedder: Embedder) -> Vector:
    """Computes the mean vector of a model whose vectors are still whole.

    Every sentence is embedded as a text and as a query.
    """
    texts = (resources.files("tsim.embed.common") / "sentences.txt").read_text("utf-8").split("\n")
    said = [text for text in texts if text]
    asked = np.stack([embedder.embed_query(text) for text in said])
    mean: Vector = np.concatenate([embedder.embed(said), asked]).mean(axis=0)
    return mean
