"""An adapter without a product: the turns that share most words with the query."""

from collections.abc import Sequence
from pathlib import Path

from .serving import Embedder, Found, Turn


class Words:
    """Counts common words; later turns win ties."""

    def __init__(self) -> None:
        """Starts empty."""
        self._turns: list[tuple[int, set[str]]] = []

    def add(self, turns: Sequence[Turn]) -> None:
        """Keeps the words of turns."""
        self._turns += [(turn.id, {*turn.text.lower().split()}) for turn in turns]

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds the turns with most words of the query."""
        wanted = {*query.lower().split()}
        found = [Found(turn, len(wanted & words)) for turn, words in self._turns]
        return sorted(found, key=lambda one: (-(one.score or 0), -(one.turn or 0)))[:limit]


def open_memory(directory: Path, embedder: Embedder, mode: str) -> Words:
    """Opens an empty memory."""
    return Words()
