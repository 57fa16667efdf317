"""An embedder for tests, without model weights."""

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from tsim.toolkit import Vector, Vectors, unit

DIMENSION = 10


class WordEmbedder:
    """Embeds a text as the sum of one random but fixed direction per word.

    It has ten dimensions, so clustering needs no dimensionality reduction.
    """

    identity = "words"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds texts as the normalised sum of the directions of their words."""
        sums = [rows.sum(axis=0) for rows in self.token_vectors(texts)]
        return unit(np.array(sums, dtype=np.float32).reshape(len(texts), DIMENSION))

    def embed_query(self, text: str) -> Vector:
        """Embeds a query in the same way as any text."""
        vector: Vector = self.embed([text])[0]
        return vector

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Returns the directions of the words of each text."""
        return [np.stack([_direction(word) for word in text.lower().split()]) for text in texts]


@cache
def _direction(word: str) -> Vector:
    seed = int.from_bytes(hashlib.sha256(word.strip("().,?!:").encode()).digest()[:4], "big")
    drawn: Vector = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return drawn
