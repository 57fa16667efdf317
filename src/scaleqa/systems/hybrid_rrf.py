"""Hybrid RRF: fused dense and BM25 rankings of turns, with neighbouring turns."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from tsim.toolkit import DenseIndex, Postings, best, tokens

RRF = 60


def fuse(rankings: Iterable[Sequence[int]]) -> dict[int, float]:
    """Fuses rankings of positions by reciprocal rank."""
    fused: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            fused[place] += 1 / (RRF + rank)
    return fused


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridRrfOptions:
    """Depth of the rankings, neighbours of a hit, and length of the context."""

    depth: Annotated[int, Field(ge=1, description="Turns taken from each ranking.")] = 50
    neighbours: Annotated[int, Field(ge=0, description="Turns added on either side of a hit.")] = 1
    budget: Annotated[int, Field(ge=0, description="Tokens of the context.")] = 1200


class HybridRrf(FlatSystem):
    """Reciprocal-rank fusion of two rankings of single turns, with the turns next to each."""

    def __init__(self, options: HybridRrfOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._depth = options.depth
        self._neighbours = options.neighbours
        self._budget = options.budget
        self._ids: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)
        self._postings = Postings()

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Embeds new turns and indexes their words."""
        self._ids += [turn.id for turn in turns]
        self._rows.extend(self._embedder.embed([turn.text for turn in turns]))
        for turn in turns:
            self._postings.append(turn.text)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Fuses both rankings and packs hits with their neighbours into the budget."""
        dense = self._rows.scores(self._embedder.embed_query(asked.question))
        sparse = self._postings.scores(asked.question)
        found = [p for p in best(sparse, self._depth) if sparse[p] > 0]
        fused = fuse([best(dense, self._depth), found])
        units: list[Unit] = []
        taken: set[int] = set()
        left = tokens.words_within(self._budget)
        for place in sorted(fused, key=lambda p: (-fused[p], p)):
            low = max(0, place - self._neighbours)
            around = range(low, min(len(self._ids), place + self._neighbours + 1))
            fresh = [self._ids[p] for p in around if self._ids[p] not in taken]
            price = self.cost(fresh)
            if self._ids[place] in taken or price > left:
                continue
            taken.update(fresh)
            left -= price
            units.append(Unit(turns=tuple(fresh), score=fused[place]))
        return self.show(units)

    def account(self) -> Accounting:
        """Returns what the system keeps."""
        return Accounting(vectors=len(self._rows), indexed_words=2 * self.words)


SYSTEM = SystemDeclaration(
    name="hybrid_rrf",
    summary="Dense and BM25 rankings of turns, fused; neighbours are added.",
    options=HybridRrfOptions,
    make=HybridRrf,
    budget=Budget(),
    order=2,
    colour="#e69f00",
)
