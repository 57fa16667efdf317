"""LangChain: turns as documents in a vector store, by BM25, or by both in an ensemble."""

from collections.abc import Sequence

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from .serving import Embedder, Found, Given, Turn


class Ours(Embeddings):
    """Vectors from the benchmark."""

    def __init__(self, embedder: Embedder) -> None:
        """Starts."""
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embeds documents."""
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> list[float]:
        """Embeds a query."""
        return self._embedder.embed_query(text)


class Retrievers:
    """One document for each turn; the BM25 index is made again when turns have come."""

    def __init__(self, embedder: Embedder, mode: str) -> None:
        """Starts empty."""
        self._mode = mode
        self._store = InMemoryVectorStore(Ours(embedder))
        self._documents: list[Document] = []
        self._words: BM25Retriever | None = None

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns as documents."""
        documents = [
            Document(id=str(turn.id), page_content=turn.text, metadata={"turn": turn.id})
            for turn in turns
        ]
        self._documents += documents
        self._words = None
        if self._mode != "bm25":
            self._store.add_documents(documents)

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds documents; retrievers give no scores."""
        found = self._retriever(limit).invoke(query)
        return [Found(document.metadata["turn"], None) for document in found[:limit]]

    def _retriever(self, limit: int) -> BaseRetriever:
        vectors = self._store.as_retriever(search_kwargs={"k": limit})
        if self._mode == "vector":
            return vectors
        if self._words is None:
            self._words = BM25Retriever.from_documents(self._documents)
        self._words.k = limit
        if self._mode == "bm25":
            return self._words
        return EnsembleRetriever(retrievers=[self._words, vectors], weights=[0.5, 0.5])


def open_memory(given: Given) -> Retrievers:
    """Opens empty retrievers, which are in RAM alone."""
    return Retrievers(given.embedder, given.mode)
