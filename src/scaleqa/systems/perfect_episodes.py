"""Perfect episodes: dense retrieval with the true boundaries of dialogues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, Kind, Sees, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.hybrid_rrf import RRF
from scaleqa.systems.protocol import Accounting, Asked, Exchange, Retrieved, Tools, Unit
from tsim.toolkit import DenseIndex, Postings, Vector, best, tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfectEpisodesOptions:
    """How many dialogues are shown, and how they are ranked."""

    k: Annotated[int, Field(ge=1, description="Dialogues shown, unless a budget is given.")] = 5
    budget: Annotated[
        int, Field(ge=0, description="Tokens of the context; 0: as many as k dialogues have.")
    ] = 0
    words: Annotated[
        float, Field(ge=0, description="Weight of the BM25 ranking in the fusion.")
    ] = 0.0


class PerfectEpisodes(FlatSystem):
    """Knows where each dialogue begins and ends, but not which one is relevant.

    It keeps one vector per dialogue and shows the nearest dialogues: `k` of them, or, with a
    budget, in order of rank every dialogue that still fits as a whole. An exchange is a dialogue of
    its own, and so is a turn that belongs to no dialogue.
    """

    def __init__(self, options: PerfectEpisodesOptions, tools: Tools) -> None:
        """Starts with the boundaries, but without any turns."""
        super().__init__()
        self._embedder = tools.embedder
        self._k = options.k
        self._budget = options.budget
        self._words = options.words
        self._home = {turn: first[0] for first in tools.dialogues for turn in first}
        self._places: dict[int, int] = {}
        self._held: list[list[int]] = []
        self._lengths: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Adds turns to their dialogues and embeds those that changed."""
        changed = set()
        for turn in turns:
            home = self._home.get(turn.id, turn.id)
            if home not in self._places:
                self._places[home] = len(self._held)
                self._held.append([])
                self._lengths.append(0)
            place = self._places[home]
            self._held[place].append(turn.id)
            self._lengths[place] += self.cost([turn.id])
            changed.add(place)
        places = sorted(changed)
        vectors = self._embedder.embed([self._text(place) for place in places])
        known = sum(place < len(self._rows) for place in places)
        for place, vector in zip(places[:known], vectors[:known], strict=True):
            self._rows.replace(place, vector)
        self._rows.extend(np.asarray(vectors[known:]))

    def observe(self, exchange: Exchange) -> None:
        """Ingests an exchange as one dialogue."""
        first, second = exchange.turns
        self._home[second.id] = first.id
        super().observe(exchange)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds the nearest dialogues."""
        scores = self._rows.scores(self._embedder.embed_query(asked.question))
        if self._words and len(scores):
            scores = self._fused(scores, asked.question)
        chosen = self._packed(scores) if self._budget else best(scores, self._k)
        return self.show(
            [Unit(turns=tuple(self._held[place]), score=float(scores[place])) for place in chosen]
        )

    def account(self) -> Accounting:
        """Returns what the system keeps."""
        return Accounting(vectors=len(self._rows), indexed_words=self.words)

    def _packed(self, scores: Vector) -> list[int]:
        """Returns the best dialogues that fit the budget; those too long are passed over."""
        left = tokens.words_within(self._budget)
        chosen = []
        for place in best(scores, len(scores)):
            if self._lengths[place] <= left:
                left -= self._lengths[place]
                chosen.append(place)
        return chosen

    def _fused(self, dense: Vector, question: str) -> Vector:
        """Fuses the dense ranking with a weighted BM25 ranking, whose index is rebuilt."""
        postings = Postings()
        for place in range(len(self._held)):
            postings.append(self._text(place))
        out = np.zeros(len(dense), dtype=np.float32)
        for scores, weight in ((dense, 1.0), (postings.scores(question), self._words)):
            for rank, place in enumerate(best(scores, len(scores)), 1):
                out[place] += weight / (RRF + rank) if scores[place] > 0 else 0.0
        return out

    def _text(self, place: int) -> str:
        return "\n".join(self.line(turn) for turn in self._held[place])


SYSTEM = SystemDeclaration(
    name="perfect_episodes",
    summary="Whole dialogues with their true boundaries; the nearest.",
    options=PerfectEpisodesOptions,
    make=PerfectEpisodes,
    kind=Kind.CONTROL,
    sees=Sees.BOUNDARIES,
    budget=Budget(),
    order=1,
    slow_to_ingest=True,
)
