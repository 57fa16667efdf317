"""Packed turns: single turns by cosine, with a discount for long turns, up to a budget.

A control for methods that pack turns: it has their budget and discount, and nothing else. With
`passages`, long turns are divided as our own method does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from tsim.embed import embed_passages, find_passages
from tsim.toolkit import DenseIndex, best, said, tokens

# A range of characters: the first, and the one after the last.
Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTurnsOptions:
    """Length of the context, and which turns count as long."""

    budget: Annotated[int, Field(ge=0, description="Tokens of the context.")] = 1100
    long: Annotated[
        int, Field(ge=0, description="Words above which a turn is discounted; 0: never.")
    ] = 60
    passages: Annotated[
        bool, Field(description="Divide long turns into passages, each packed by itself.")
    ] = False


class PackedTurns(FlatSystem):
    """Dense retrieval of single turns within a budget."""

    def __init__(self, options: PackedTurnsOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._budget = options.budget
        self._long = options.long
        self._divides = options.passages
        self._places: list[tuple[int, int, int]] = []  # a turn, and a range of its characters
        self._lengths: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Embeds new turns."""
        texts = [turn.text for turn in turns]
        starts = find_passages(self._embedder, texts) if self._divides else [(0,)] * len(texts)
        for turn, begins in zip(turns, starts, strict=True):
            for first, last in pairwise([*begins, len(turn.text)]):
                self._places.append((turn.id, first, last))
                self._lengths.append(len(said(turn.role, turn.text[first:last]).split()))
        self._rows.extend(embed_passages(self._embedder, texts, starts))

    def retrieve(self, asked: Asked) -> Retrieved:
        """Packs turns by cosine; above `long` words it is divided by words / `long`."""
        scores = self._rows.scores(self._embedder.embed_query(asked.question))
        if self._long:
            lengths = np.array(self._lengths, dtype=np.float32)
            scores = scores / np.maximum(np.float32(1), lengths / np.float32(self._long))
        left = tokens.words_within(self._budget)
        units: list[Unit] = []
        ranges: dict[int, list[Range]] = {}
        for place in best(scores, len(scores)):
            if self._lengths[place] <= left:
                left -= self._lengths[place]
                turn, first, last = self._places[place]
                units.append(Unit(turns=(turn,), score=float(scores[place])))
                ranges.setdefault(turn, []).append((first, last))
        texts = {turn: self._parts(turn, some) for turn, some in ranges.items()}
        whole = {turn for turn, parts in texts.items() if parts == (self.turns[turn].text,)}
        return Retrieved(
            units=tuple(units),
            context="\n\n".join(
                said(self.turns[turn].role, " … ".join(parts)) for turn, parts in texts.items()
            ),
            shown=frozenset(whole),
            parts={turn: parts for turn, parts in texts.items() if turn not in whole},
        )

    def _parts(self, turn: int, ranges: Sequence[Range]) -> tuple[str, ...]:
        """Returns what some ranges of a turn say; those that follow each other are one."""
        joined: list[Range] = []
        for first, last in sorted(ranges):
            if joined and joined[-1][1] == first:
                first, _ = joined.pop()
            joined.append((first, last))
        return tuple(self.turns[turn].text[first:last] for first, last in joined)

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
