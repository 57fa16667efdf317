"""What all vectors of a model have in common, and what those of a language do.

The vectors of some encoders are close to each other whatever the texts say (cosines of 0.7 to 1),
and closer still in the same language. What is said is a small difference, which weights that were
fitted for another model do not see. So the mean vector and a few directions in which languages
differ are removed. Both come from the same eight sentences in 17 languages (`sentences.txt`).
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources

import numpy as np

from tsim.embed.protocol import Embedder
from tsim.vectors import Vectors, unit

# Directions that are removed: more gained nothing.
DIRECTIONS = 8


@cache
def load(name: str) -> Vectors:
    """Returns what is removed for a model: the mean vector, then the directions."""
    with (resources.files("tsim.embed.common") / f"{name}.npy").open("rb") as file:
        rows: Vectors = np.load(file, allow_pickle=False)
    return rows


def remove(vectors: Vectors, common: Vectors) -> Vectors:
    """Removes the mean and the directions from vectors, row by row, and scales the rest to 1."""
    rest = vectors - common[0]
    for direction in common[1:]:
        rest -= np.vecdot(rest, direction)[:, None] * direction
    return unit(rest)


def measure(embedder: Embedder) -> Vectors:
    """Computes what is removed, for a model whose vectors are still whole."""
    means = np.stack([_mean(embedder, language) for language in sentences().values()])
    centre = means.mean(axis=0)
    _, _, directions = np.linalg.svd(means - centre, full_matrices=False)
    return np.vstack([centre, directions[:DIRECTIONS]]).astype(np.float32)


def sentences() -> dict[str, list[str]]:
    """Returns the sentences by language."""
    text = (resources.files("tsim.embed.common") / "sentences.txt").read_text("utf-8")
    blocks = [block.splitlines() for block in text.strip().split("\n\n")]
    return {block[0]: block[1:] for block in blocks}


def _mean(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    asked = np.stack([embedder.embed_query(text) for text in texts])
    mean: Vectors = np.concatenate([embedder.embed(texts), asked]).mean(axis=0)
    return mean
