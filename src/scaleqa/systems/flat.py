"""A base class for systems over a flat list of turns."""

from collections.abc import Iterable, Mapping, Sequence

from scaleqa.packages import StreamTurn
from scaleqa.systems.protocol import Accounting, Asked, Exchange, Retrieved, Unit
from tsim.toolkit import said


class FlatSystem:
    """Keeps the turns; subclasses index and rank them."""

    def __init__(self) -> None:
        """Starts empty."""
        self.turns: dict[int, StreamTurn] = {}
        self.words = 0

    def ingest(self, turns: Sequence[StreamTurn]) -> None:
        """Ingests turns, in order."""
        for turn in turns:
            self.turns[turn.id] = turn
            self.words += len(turn.text.split())
        self.index(turns)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Indexes new turns; does nothing by default."""

    def observe(self, exchange: Exchange) -> None:
        """Ingests an exchange."""
        self.ingest(exchange.turns)

    def account(self) -> Accounting:
        """Returns what the system keeps."""
        return Accounting(vectors=0, indexed_words=self.words)

    def views(self, asked: Asked) -> Mapping[str, frozenset[int]]:
        """Returns nothing: there is only one view."""
        return {}

    def close(self) -> None:
        """Does nothing by default."""

    def show(self, units: Sequence[Unit]) -> Retrieved:
        """Formats units as a context, best first, with each turn only once."""
        shown: dict[int, None] = {}
        blocks = []
        for unit in units:
            fresh = [turn for turn in unit.turns if turn not in shown]
            shown.update(dict.fromkeys(fresh))
            if fresh:
                blocks.append("\n".join(self.line(turn) for turn in fresh))
        return Retrieved(units=tuple(units), context="\n\n".join(blocks), shown=frozenset(shown))

    def line(self, turn: int) -> str:
        """Returns a turn as it appears in a context."""
        return said(self.turns[turn].role, self.turns[turn].text)

    def cost(self, turns: Iterable[int]) -> int:
        """Returns the words that turns take in a context; summing rounded tokens is inexact."""
        return sum(len(self.line(turn).split()) for turn in turns)
