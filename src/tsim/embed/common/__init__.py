"""What all vectors of a model have in common.

The vectors of some encoders are close to each other whatever the texts say (cosines of 0.7 to 1).
What is said is a small difference, which weights that were fitted for another model do not see. So
the mean vector is removed. It comes from the same eight sentences in 17 languages.
"""

from functools import cache
from importlib import resources

import numpy as np

from tsim.embed.protocol import Embedder
from tsim.vectors import Vector, Vectors, unit


@cache
def load(name: str) -> Vector:
    """Returns the mean vector of a model."""
    with (resources.files("tsim.embed.common") / f"{name}.npy").open("rb") as file:
        mean: Vector = np.load(file, allow_pickle=False)
    return mean


def remove(vectors: Vectors, mean: Vector) -> Vectors:
    """Removes the mean vector and scales the rest to length 1."""
    return unit(vectors - mean)


def measure(embedder: Embedder) -> Vector:
    """Computes the mean vector of a model whose vectors are still whole.

    Every sentence is embedded as a text and as a query.
    """
    texts = (resources.files("tsim.embed.common") / "sentences.txt").read_text("utf-8").split("\n")
    said = [text for text in texts if text]
    asked = np.stack([embedder.embed_query(text) for text in said])
    mean: Vector = np.concatenate([embedder.embed(said), asked]).mean(axis=0)
    return mean
