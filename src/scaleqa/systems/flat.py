"""What systems over a flat list of turns share."""

from collections.abc import Iterable, Mapping, Sequence

from scaleqa.packages import StreamTurn
from scaleqa.systems.protocol import Accounting, Asked, Exchange, Retrieved, Unit


class FlatSystem:
    """Keeps the turns; subclasses index and rank them."""

    def __init__(self) -> None:
        """Starts empty."""
        self.turns: dict[int, StreamTurn] = {}
        self.words = 0

    def ingest(self, turns: Sequence[StreamTurn]) -> None:
        """Takes in turns, in order."""
        for turn in turns:
            self.turns[turn.id] = turn
            self.words += len(turn.text.split())
        self.index(turns)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Indexes new turns; the base keeps them only."""

    def observe(self, exchange: Exchange) -> None:
        """Takes in an exchange."""
        self.ingest(exchange.turns)

    def account(self) -> Accounting:
        """Tells what is kept."""
        return Accounting(vectors=0, indexed_words=self.words)

    def views(self, asked: Asked) -> Mapping[str, frozenset[int]]:
        """One view only."""
        return {}

    def close(self) -> None:
        """Nothing to let go of."""

    def show(self, units: Sequence[Unit]) -> Retrieved:
        """Writes units as context, best first, a turn once."""
        shown: dict[int, None] = {}
        blocks = []
        for unit in units:
            fresh = [turn for turn in unit.turns if turn not in shown]
            shown.update(dict.fromkeys(fresh))
            if fresh:
                blocks.append("\n".join(self.line(turn) for turn in fresh))
        return Retrieved(units=tuple(units), context="\n\n".join(blocks), shown=frozenset(shown))

    def line(self, turn: int) -> str:
        """One turn in a context."""
        return f"{self.turns[turn].role}: {self.turns[turn].text}"

    def cost(self, turns: Iterable[int]) -> int:
        """Words that turns take in a context; tokens are rounded, and their sums too short."""
        return sum(len(self.line(turn).split()) for turn in turns)
