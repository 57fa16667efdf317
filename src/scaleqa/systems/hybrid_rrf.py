"""Hybrid RRF: dense and BM25 rankings of turns fused, neighbours added, a context cap."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from tsim import tokens
from tsim.index import DenseIndex, Postings
from tsim.vectors import best

RRF = 60


def fuse(rankings: Iterable[Sequence[int]]) -> dict[int, float]:
    """Fuses rankings of places: each adds the reciprocal of a place's rank, damped."""
    fused: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            fused[place] += 1 / (RRF + rank)
    return fused


class HybridRrf(FlatSystem):
    """Reciprocal-rank fusion of two rankings of single turns, with the turns beside each."""

    def __init__(self, tools: Tools, *, depth: int, neighbours: int, cap: int) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._depth = depth
        self._neighbours = neighbours
        self._cap = cap
        self._ids: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)
        self._postings = Postings()

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Embeds new turns and notes their words."""
        self._ids += [turn.id for turn in turns]
        self._rows.extend(self._embedder.embed([turn.text for turn in turns]))
        for turn in turns:
            self._postings.append(turn.text)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Fuses both rankings and packs hits with their neighbours under the cap."""
        dense = self._rows.scores(self._embedder.embed_query(asked.question))
        sparse = self._postings.scores(asked.question)
        found = [p for p in best(sparse, self._depth) if sparse[p] > 0]
        fused = fuse([best(dense, self._depth), found])
        units: list[Unit] = []
        taken: set[int] = set()
        left = tokens.words_within(self._cap)
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
        """Tells what is kept."""
        return Accounting(vectors=len(self._rows), indexed_words=2 * self.words)


def make(options: Mapping[str, str], tools: Tools) -> HybridRrf:
    """Opens the system; options: depth, neighbours, cap."""
    values = take(options, depth=50, neighbours=1, cap=1200)
    return HybridRrf(
        tools,
        depth=int(values["depth"]),
        neighbours=int(values["neighbours"]),
        cap=int(values["cap"]),
    )
