"""Packed turns: single turns by cosine, with a discount for long turns, up to a budget.

A control for methods that pack turns: it has their budget and discount, and nothing else.
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
    """Length of the context, and which turns count as long."""

    budget: Annotated[int, Field(ge=0, description="Tokens of the context.")] = 1100
    long: Annotated[
        int, Field(ge=0, description="Words above which a turn is discounted; 0: never.")
    ] = 60


class PackedTurns(FlatSystem):
    """Dense retrieval of single turns within a budget."""

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
        """Packs turns by cosine; above `long` words it is divided by words / `long`."""
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
        """Returns what the system keeps."""
        return Accounting(vectors=len(self._rows), indexed_words=self.words)


SYSTEM = SystemDeclaration(
    name="packed_turns",
    summary="The nearest turns, long ones discounted, as many as fit.",
    options=PackedTurnsOptions,
    make=PackedTurns,
    budget=Budget(),
)
