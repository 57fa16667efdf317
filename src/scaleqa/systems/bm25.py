"""A base class for systems that rank units of whole turns by BM25."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Asked, Retrieved, Unit
from tsim.toolkit import Postings, best


class Bm25System(FlatSystem, ABC):
    """Units of whole turns, of which the last ones may still grow.

    The index is rebuilt at the first request after new turns, because a unit that grows cannot be
    updated in place.
    """

    def __init__(self, *, k: int) -> None:
        """Starts empty."""
        super().__init__()
        self._k = k
        self.units: list[list[int]] = []
        self._postings: Postings | None = None

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Puts turns into units."""
        for turn in turns:
            self.place(turn)
        self._postings = None

    @abstractmethod
    def place(self, turn: StreamTurn) -> None:
        """Puts a turn into one of `units`, or starts a new one with it."""

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds the best units; units that share no word with the request are left out."""
        scores = self._indexed().scores(asked.question)
        return self.show(
            [
                Unit(turns=tuple(self.units[place]), score=float(scores[place]))
                for place in best(scores, self._k)
                if scores[place] > 0
            ]
        )

    def _indexed(self) -> Postings:
        if self._postings is None:
            self._postings = Postings()
            for unit in self.units:
                self._postings.append("\n".join(self.turns[turn].text for turn in unit))
        return self._postings
