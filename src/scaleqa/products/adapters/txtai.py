"""txtai: turns in an embeddings database, by vectors and BM25 or by vectors alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from txtai import Embeddings

from .serving import Embedder, Found, Given, Turn


class Database:
    """One entry for each turn."""

    def __init__(self, embedder: Embedder, mode: str) -> None:
        """Starts empty."""
        self._embedder = embedder
        self._query = False
        # A method of an object would be taken for a class and called without texts.
        self._entries = Embeddings(
            method="external",
            transform=lambda texts: self._transform(texts),
            hybrid=mode == "hybrid",
        )

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns; the first ones make the index."""
        self._query = False
        self._entries.upsert([(turn.id, turn.text, None) for turn in turns])

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds entries."""
        self._query = True
        return [Found(turn, score) for turn, score in self._entries.search(query, limit)]

    def _transform(self, texts: Sequence[str]) -> Any:
        """Embeds turns, or queries while a search goes on."""
        if self._query:
            return np.array([self._embedder.embed_query(text) for text in texts], dtype=np.float32)
        return np.array(self._embedder.embed(texts), dtype=np.float32)


def open_memory(given: Given) -> Database:
    """Opens an empty database, which is in RAM alone."""
    return Database(given.embedder, given.mode)
