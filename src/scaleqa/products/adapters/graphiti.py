"""Graphiti: a graph of facts that a language model extracts of every turn, in Kuzu on disk."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from . import endpoint
from .serving import Embedder, Found, Given, Turn

GROUP = "thread"
FACTS = "facts"
# Episodes have times; those of a thread without are a minute apart.
BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)


class Graph:
    """One episode for each turn; its event loop runs when it is asked."""

    def __init__(self, given: Given) -> None:
        """Opens an empty graph."""
        from graphiti_core import Graphiti
        from graphiti_core.cross_encoder.openai_reranker_client import OpenAIRerankerClient
        from graphiti_core.driver.driver import GraphProvider
        from graphiti_core.driver.kuzu_driver import KuzuDriver
        from graphiti_core.graph_queries import get_fulltext_indices
        from graphiti_core.llm_client.config import LLMConfig
        from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
        from openai import AsyncOpenAI

        self._mode = given.mode
        self._turns: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        url = endpoint.start(given)
        config = LLMConfig(
            api_key=endpoint.KEY,
            model=endpoint.MODEL,
            small_model=endpoint.MODEL,
            base_url=url,
        )
        client = AsyncOpenAI(
            api_key=endpoint.KEY, base_url=url, timeout=endpoint.SECONDS, max_retries=0
        )
        driver = KuzuDriver(str(given.directory / "kuzu"))
        # It is compared with the group, and this driver has none.
        driver._database = GROUP
        self._embedder = _ours(given.embedder)
        self._graph = Graphiti(
            graph_driver=driver,
            llm_client=OpenAIGenericClient(config, client=client),
            embedder=self._embedder,
            # Is not used by the search below; the default one asks for a key.
            cross_encoder=OpenAIRerankerClient(config, client=client),
        )
        # This driver makes its tables, but not the indexes of words that its search asks for.
        for query in get_fulltext_indices(GraphProvider.KUZU):
            self._run(driver.execute_query(query))

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns as episodes, one after the other."""
        from graphiti_core.nodes import EpisodeType

        for turn in turns:
            made = self._run(
                self._graph.add_episode(
                    name=f"turn {turn.id}",
                    episode_body=f"{turn.role}: {turn.text}",
                    source=EpisodeType.message,
                    source_description="conversation",
                    reference_time=_time(turn),
                    group_id=GROUP,
                )
            )
            self._turns[made.episode.uuid] = turn.id

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds facts: what they say, or the turns that they are from."""
        self._embedder.searching = True
        edges = self._run(self._graph.search(query, group_ids=[GROUP], num_results=limit))
        self._embedder.searching = False
        if self._mode == FACTS:
            return [Found(None, None, edge.fact) for edge in edges]
        turns = [self._turns[uuid] for edge in edges for uuid in edge.episodes]
        return [Found(turn, None) for turn in dict.fromkeys(turns)][:limit]

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)


def _ours(embedder: Embedder) -> Any:
    from graphiti_core.embedder.client import EmbedderClient

    class Ours(EmbedderClient):
        """Vectors from the benchmark."""

        searching = False

        async def create(self, input_data: Any) -> list[float]:
            """Embeds a text, which is a query while a search goes on."""
            text = input_data if isinstance(input_data, str) else input_data[0]
            return embedder.embed_query(text) if self.searching else embedder.embed([text])[0]

        async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
            """Embeds texts."""
            return embedder.embed(input_data_list)

    return Ours()


def _time(turn: Turn) -> datetime:
    if turn.at is None:
        return BEGINNING + timedelta(minutes=turn.id)
    return datetime.fromtimestamp(turn.at, UTC)


def open_memory(given: Given) -> Graph:
    """Opens an empty graph; the length of vectors is known before anything is imported."""
    os.environ["EMBEDDING_DIM"] = str(given.embedder.dimension)
    return Graph(given)
