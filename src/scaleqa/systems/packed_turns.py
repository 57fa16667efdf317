"""Packed turns: single turns by cosine, long ones discounted, as many as a budget holds.

A control for methods that pack: it has their budget and their discount, and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from tsim.toolkit import DenseIndex, best, tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTurnsOptions:
    """How long the context is, and which turns count as long."""

    budget: Annotated[int, Field(ge=0, description="Tokens of the context.")] = 1100
    long: Annotated[
        int, Field(ge=0, description="Words from which a turn is discounted; 0: none is.")
    ] = 60


class PackedTurns(FlatSystem):
    """Dense retrieval of single turns under a budget."""

    def __init__(self, options: PackedTurnsOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._budget = options.budget
        self._long = options.long
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


SYSTEM = SystemDeclaration(
    name="packed_turns",
    summary="The nearest turns, long ones discounted, as many as fit.",
    options=PackedTurnsOptions,
    make=PackedTurns,
    budget=Budget(),
)
