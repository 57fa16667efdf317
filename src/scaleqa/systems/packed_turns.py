"""Packed turns: single turns by cosine, long ones discounted, as many as a budget holds.

A control for methods that pack: it has their budget and their discount, and nothing else.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from tsim import tokens
from tsim.index import DenseIndex
from tsim.vectors import best


class PackedTurns(FlatSystem):
    """Dense retrieval of single turns under a budget."""

    def __init__(self, tools: Tools, *, budget: int, long: int) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._budget = budget
        self._long = long
        self._ids: list[int] = []
        self._lengths: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Embeds new turns."""
        self._ids += [turn.id for turn in turns]
        self._lengths += [len(self.line(turn.id).split()) for turn in turns]
        self._rows.extend(self._embedder.embed([turn.text for turn in turns]))

    def retrieve(self, asked: Asked) -> Retrieved:
        """Takes turns by cosine, beyond `long` words by cosine a word; what is too long stays."""
        scores = self._rows.scores(self._embedder.embed_query(asked.question))
        if self._long:
            lengths = np.array(self._lengths, dtype=np.float32)
            scores = scores / np.maximum(np.float32(1), lengths / np.float32(self._long))
        left = tokens.words_within(self._budget)
        units = []
        for place in best(scores, len(scores)):
            if self._lengths[place] <= left:
                left -= self._lengths[place]
                units.append(Unit(turns=(self._ids[place],), score=float(scores[place])))
        return self.show(units)

    def account(self) -> Accounting:
        """Tells what is kept."""
        return Accounting(vectors=len(self._rows), indexed_words=self.words)


def make(options: Mapping[str, str], tools: Tools) -> PackedTurns:
    """Opens the system; options: budget, long (0: no discount)."""
    values = take(options, budget=1100, long=60)
    return PackedTurns(tools, budget=int(values["budget"]), long=int(values["long"]))
