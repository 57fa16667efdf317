"""An embedder that needs no weights."""

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from tsim.toolkit import Vector, Vectors, unit

DIMENSION = 10


class WordEmbedder:
    """Each word has a direction of its own; a text points where its words do together.

    Its ten dimensions need no reducing before they are clustered.
    """

    identity = "words"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds texts as the directions of their words, summed."""
        sums = [rows.sum(axis=0) for rows in self.token_vectors(texts)]
        return unit(np.array(sums, dtype=np.float32).reshape(len(texts), DIMENSION))

    def embed_query(self, text: str) -> Vector:
        """Embeds a query as any text."""
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
