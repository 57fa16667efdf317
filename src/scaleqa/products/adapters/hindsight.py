"""Hindsight without a language model: every turn is a document, kept as a chunk."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from . import endpoint, postgres
from .serving import Found, Given, Turn

BANK = "thread"
# Of what is recalled; enough for all that may be asked for.
MOST_TOKENS = 1_000_000


class Bank:
    """A bank of memories, in the process of the adapter; its event loop runs when it is asked."""

    def __init__(self, directory: Path) -> None:
        """Opens an empty bank."""
        from hindsight_api import MemoryEngine
        from hindsight_api.models import RequestContext

        self._server = postgres.Server(directory / "postgres")
        self._loop = asyncio.new_event_loop()
        self._context = RequestContext()
        self._engine = MemoryEngine(db_url=self._server.url)
        self._loop.run_until_complete(self._engine.initialize())

    def add(self, turns: Sequence[Turn]) -> None:
        """Retains turns, in one batch."""
        contents = [
            {
                "content": turn.text,
                "document_id": str(turn.id),
                "event_date": None if turn.at is None else datetime.fromtimestamp(turn.at, UTC),
            }
            for turn in turns
        ]
        self._loop.run_until_complete(
            self._engine.retain_batch_async(BANK, contents, request_context=self._context)
        )

    def search(self, query: str, limit: int) -> list[Found]:
        """Recalls memories, each of one document; of equal scores, the earlier turn is first."""
        found = self._loop.run_until_complete(
            self._engine.recall_async(
                BANK, query, max_tokens=MOST_TOKENS, request_context=self._context
            )
        )
        ranked = sorted((-fact.scores.final, int(fact.document_id)) for fact in found.results)
        return [Found(turn, -score) for score, turn in ranked[:limit]]

    def close(self) -> None:
        """Ends the server of the bank."""
        self._server.close()


def open_memory(given: Given) -> Bank:
    """Opens an empty bank; where vectors come from is known before anything is imported."""
    os.environ["HINDSIGHT_API_EMBEDDINGS_OPENAI_BASE_URL"] = endpoint.start(given)
    os.environ["HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY"] = endpoint.KEY
    os.environ["HINDSIGHT_API_EMBEDDINGS_OPENAI_MODEL"] = endpoint.MODEL
    return Bank(given.directory)
