"""mem0: turns as they are (`infer=False`), or what it writes of them with a language model."""

from collections.abc import Sequence
from typing import Any

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from . import endpoint
from .serving import Embedder, Found, Given, Turn

THREAD = "thread"
ROLES = {"model": "assistant"}
# Clients are made that ask for a key, and never used.
UNUSED = {"provider": "openai", "config": {"api_key": endpoint.KEY}}
TURNS, MEMORIES = "turns", "memories"


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
    """One memory for each turn, or what is extracted of it; its metadata has the turn's id."""

    def __init__(self, given: Given) -> None:
        """Opens a memory on disk."""
        self._mode = given.mode
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(given.directory / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": given.embedder.dimension,
                    },
                },
                "embedder": UNUSED,
                "llm": UNUSED if given.mode == TURNS else _model(given),
                "history_db_path": str(given.directory / "history.db"),
            }
        )
        self._memory.embedding_model = Ours(given.embedder)
        llm = self._memory.llm
        llm.client = llm.client.with_options(timeout=endpoint.SECONDS, max_retries=0)

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns, one call each: the metadata of a call is that of all its messages."""
        for turn in turns:
            message = {"role": ROLES.get(turn.role, turn.role), "content": turn.text}
            self._memory.add(
                [message],
                user_id=THREAD,
                metadata={"turn": turn.id},
                infer=self._mode != TURNS,
            )

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds memories: what they say, or the turns that they are about."""
        found = self._memory.search(query, top_k=limit, filters={"user_id": THREAD})["results"]
        if self._mode == MEMORIES:
            return [Found(None, one["score"], one["memory"]) for one in found]
        return [Found(one["metadata"]["turn"], one["score"]) for one in found]


def _model(given: Given) -> dict[str, Any]:
    config = {
        "api_key": endpoint.KEY,
        "model": endpoint.MODEL,
        "openai_base_url": endpoint.start(given),
    }
    return {"provider": "openai", "config": config}


def open_memory(given: Given) -> Memories:
    """Opens an empty memory."""
    return Memories(given)
