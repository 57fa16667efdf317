"""Letta's archival memory, in its embedded server: turns as passages; no agent is asked."""

import os
from collections.abc import Sequence

from . import endpoint
from .serving import Found, Given, Turn

# Tokens of a passage; longer than any turn, so that a turn is one.
PASSAGE = 100_000


class Archive:
    """The archival memory of an agent that never speaks."""

    def __init__(self, given: Given) -> None:
        """Makes the agent."""
        from letta import create_client
        from letta.schemas.embedding_config import EmbeddingConfig
        from letta.schemas.llm_config import LLMConfig

        url = endpoint.start(given)
        self._vectors = EmbeddingConfig(
            embedding_model=endpoint.MODEL,
            embedding_endpoint_type="openai",
            embedding_endpoint=url,
            embedding_dim=given.embedder.dimension,
            embedding_chunk_size=PASSAGE,
        )
        self._client = create_client()
        self._agent = self._client.create_agent(
            name="thread",
            embedding_config=self._vectors,
            llm_config=LLMConfig(
                model=endpoint.MODEL,
                model_endpoint_type="openai",
                model_endpoint=url,
                context_window=8192,
            ),
            include_base_tools=False,
        )
        self._turns: dict[str, int] = {}

    def add(self, turns: Sequence[Turn]) -> None:
        """Inserts turns, as the function `archival_memory_insert` of its agents does."""
        for turn in turns:
            made = self._client.server.passage_manager.insert_passage(
                agent_state=self._agent,
                agent_id=self._agent.id,
                text=turn.text,
                actor=self._client.user,
            )
            self._turns |= {passage.id: turn.id for passage in made}

    def search(self, query: str, limit: int) -> list[Found]:
        """Searches as the function `archival_memory_search` of its agents does."""
        found = self._client.server.agent_manager.list_passages(
            actor=self._client.user,
            agent_id=self._agent.id,
            query_text=query,
            limit=limit,
            embed_query=True,
            embedding_config=self._vectors,
            agent_only=True,
        )
        return [Found(self._turns[passage.id], None) for passage in found]


def open_memory(given: Given) -> Archive:
    """Opens an empty memory; where its files go is known before anything is imported."""
    os.environ["HOME"] = str(given.directory)
    os.environ["OPENAI_API_KEY"] = endpoint.KEY
    return Archive(given)
