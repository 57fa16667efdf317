"""MemPalace: exchanges as drawers, filed as its live integrations do."""

import os
from collections.abc import Sequence
from pathlib import Path

from . import endpoint
from .serving import Found, Given, Turn

WING, ROOM = "thread", "conversations"


class Palace:
    """One drawer for each exchange: a turn of whoever spoke first, and what follows it."""

    def __init__(self, directory: Path) -> None:
        """Opens an empty palace."""
        from mempalace.palace import get_collection

        self._path = str(directory)
        self._drawers = get_collection(self._path, create=True)
        self._first = ""

    def add(self, turns: Sequence[Turn]) -> None:
        """Files exchanges; the last one is filed as far as it goes."""
        exchange: list[str] = []
        for turn in turns:
            self._first = self._first or turn.role
            if turn.role == self._first and exchange:
                self._file(exchange)
                exchange = []
            exchange.append(f"> {turn.text}" if turn.role == self._first else turn.text)
        self._file(exchange)

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds drawers, by their text: the ids of turns are not returned."""
        from mempalace.searcher import search_memories

        found = search_memories(query, self._path, n_results=limit)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [Found(None, hit["similarity"], hit["text"]) for hit in found["results"]]

    def _file(self, exchange: Sequence[str]) -> None:
        from mempalace.convo_miner import file_conversation_exchange

        file_conversation_exchange(
            self._drawers,
            wing=WING,
            room=ROOM,
            text="\n".join(exchange),
            source_file="thread.txt",
            agent="scaleqa",
        )


def open_memory(given: Given) -> Palace:
    """Opens an empty palace; where vectors come from is known before anything is imported."""
    os.environ["MEMPALACE_EMBEDDING_MODEL"] = "openai-compat"
    os.environ["MEMPALACE_EMBEDDING_API_URL"] = endpoint.start(given)
    os.environ["MEMPALACE_EMBEDDING_API_MODEL"] = endpoint.MODEL
    os.environ["MEMPALACE_EMBEDDING_API_KEY"] = endpoint.KEY
    return Palace(given.directory)
