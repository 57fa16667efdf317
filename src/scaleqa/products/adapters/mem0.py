"""mem0: every turn is a memory as it is (`infer=False`); nothing is extracted by a model."""

from collections.abc import Sequence
from pathlib import Path

from mem0 import Memory

from . import endpoint
from .serving import Embedder, Found, Turn

THREAD = "thread"
ROLES = {"model": "assistant"}


class Memories:
    """One memory for each turn, which has the turn's id in its metadata."""

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        """Opens a memory on disk."""
        access = {"api_key": endpoint.KEY, "openai_base_url": endpoint.start(embedder)}
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
                "embedder": {"provider": "openai", "config": {"model": endpoint.MODEL, **access}},
                # Asked for, and never used without inference.
                "llm": {"provider": "openai", "config": access},
                "history_db_path": str(directory / "history.db"),
            }
        )

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
