"""mem0: every turn is a memory as it is (`infer=False`); nothing is extracted by a model."""

from collections.abc import Sequence
from pathlib import Path

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from .serving import Embedder, Found, Turn

THREAD = "thread"
ROLES = {"model": "assistant"}
# Clients are made that ask for a key, and never used.
UNUSED = {"provider": "openai", "config": {"api_key": "none"}}


class Ours(EmbeddingBase):
    """Vectors from the benchmark."""

    def __init__(self, embedder: Embedder) -> None:
        """Starts."""
        super().__init__()
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Embeds a memory, or a query."""
        if memory_action == "search":
            return self._embedder.embed_query(text)
        return self._embedder.embed([text])[0]


class Memories:
    """One memory for each turn, which has the turn's id in its metadata."""

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        """Opens a memory on disk."""
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(directory / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": embedder.dimension,
                    },
                },
                "embedder": UNUSED,
                "llm": UNUSED,
                "history_db_path": str(directory / "history.db"),
            }
        )
        self._memory.embedding_model = Ours(embedder)

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns, one call each: the metadata of a call is that of all its messages."""
        for turn in turns:
            message = {"role": ROLES.get(turn.role, turn.role), "content": turn.text}
            metadata = {"turn": turn.id}
            self._memory.add([message], user_id=THREAD, metadata=metadata, infer=False)

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds memories."""
        found = self._memory.search(query, top_k=limit, filters={"user_id": THREAD})
        return [Found(one["metadata"]["turn"], one["score"]) for one in found["results"]]


def open_memory(directory: Path, embedder: Embedder, mode: str) -> Memories:
    """Opens an empty memory."""
    return Memories(directory, embedder)
