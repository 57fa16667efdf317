"""Chroma: turns in a collection on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
from chromadb import Documents, EmbeddingFunction, Embeddings

from .serving import Embedder, Found, Given, Turn


class Ours(EmbeddingFunction[Documents]):
    """Vectors from the benchmark."""

    def __init__(self, embedder: Embedder) -> None:
        """Starts."""
        self._embedder = embedder

    def __call__(self, input: Documents) -> Embeddings:
        """Embeds documents."""
        return self._embedder.embed(input)

    def embed_query(self, input: Documents) -> Embeddings:
        """Embeds queries."""
        return [self._embedder.embed_query(text) for text in input]

    @staticmethod
    def name() -> str:
        """What the collection says of its vectors."""
        return "scaleqa"

    def get_config(self) -> dict[str, Any]:
        """Nothing that could be set."""
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> "Ours":
        """Is not needed: no collection is opened again."""
        raise NotImplementedError


class Collection:
    """One document for each turn."""

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        """Creates a collection."""
        client = chromadb.PersistentClient(path=str(directory))
        self._turns = client.create_collection(
            "thread",
            embedding_function=Ours(embedder),
            configuration={"hnsw": {"space": "cosine"}},
        )

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns as documents."""
        self._turns.add(
            ids=[str(turn.id) for turn in turns], documents=[turn.text for turn in turns]
        )

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds the nearest turns."""
        found = self._turns.query(query_texts=[query], n_results=limit)
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [Found(int(turn), 1 - distance) for turn, distance in pairs]


def open_memory(given: Given) -> Collection:
    """Opens an empty collection."""
    return Collection(given.directory, given.embedder)
