"""An embedder without a model."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from tsim.vectors import Vector, Vectors, unit


class Hashes:
    """Vectors of bags of words: texts with words in common are near each other."""

    identity = "test/hashes"
    dimension = 64

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()) or [text]:
                digest = hashlib.sha256(word.encode()).digest()
                row += np.frombuffer(digest * 2, dtype=np.uint8)[: self.dimension] - 127.5
        return unit(rows)

    def embed_query(self, text: str) -> Vector:
        row: Vector = self.embed([text])[0]
        return row
