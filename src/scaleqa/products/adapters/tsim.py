"""TSIM itself, as any product: its costs are measured in the same way as those of others."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tsim import Memory, NewTurn
from tsim.toolkit import Vector, Vectors

from .serving import Embedder, Found, Given, Turn

# Results are turns: as many as fill a budget of so many tokens.
BUDGET = 500


class Ours:
    """Vectors from the benchmark."""

    identity = "scaleqa"

    def __init__(self, embedder: Embedder) -> None:
        """Starts."""
        self._embedder = embedder
        self.dimension = embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages."""
        return np.array(self._embedder.embed(texts), dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """Embeds a query."""
        return np.array(self._embedder.embed_query(text), dtype=np.float32)


class Thread:
    """A thread of a memory on disk."""

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        """Opens an empty memory."""
        self._memory = Memory.open(directory / "memory.db", model=Ours(embedder))
        self._thread = self._memory.thread("thread")
        self._ids: list[int] = []

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns."""
        self._ids += [turn.id for turn in turns]
        self._thread.add_many(NewTurn(role=turn.role, text=turn.text, at=turn.at) for turn in turns)

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds spans of turns."""
        hits = self._thread.search(query, budget=BUDGET)
        return [Found(self._ids[turn.id], hit.score) for hit in hits for turn in hit.turns][:limit]


def open_memory(given: Given) -> Thread:
    """Opens an empty memory."""
    return Thread(given.directory, given.embedder)
