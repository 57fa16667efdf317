"""LlamaIndex: turns as nodes of a vector index in RAM."""

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode
from pydantic import PrivateAttr

from .serving import Embedder, Found, Given, Turn


class Ours(BaseEmbedding):
    """Vectors from the benchmark."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        """Starts; nothing is asked for in small pieces."""
        super().__init__(model_name="scaleqa", embed_batch_size=512)
        self._embedder = embedder

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.embed([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Index:
    """One node for each turn."""

    def __init__(self, embedder: Embedder) -> None:
        """Starts empty."""
        self._index = VectorStoreIndex(nodes=[], embed_model=Ours(embedder))

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns as nodes."""
        self._index.insert_nodes([TextNode(id_=str(turn.id), text=turn.text) for turn in turns])

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds the nearest nodes."""
        found = self._index.as_retriever(similarity_top_k=limit).retrieve(query)
        return [Found(int(one.node.node_id), one.score) for one in found]


def open_memory(given: Given) -> Index:
    """Opens an empty index."""
    return Index(given.embedder)
