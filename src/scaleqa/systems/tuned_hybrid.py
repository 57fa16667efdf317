"""Tuned Hybrid-Rerank: a strong retrieval pipeline for turns, without episodes.

BM25, dense and HyDE rankings are fused. The best candidates are reranked, extended to parent
windows and packed by maximal marginal relevance. The defaults were chosen on questions of split s1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from scaleqa.backends import Message
from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.hybrid_rrf import fuse
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.rerank import open_reranker
from scaleqa.systems.windows import Window, diversify, fit, grow
from tsim.toolkit import DenseIndex, Postings, best, tokens, unit

HYDE = (
    "Write a short passage, as it might stand in a conversation, that holds the answer to the "
    "request below. Make up what you do not know. Write the passage alone.\n\nRequest: {question}"
)
HYDE_TOKENS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedHybridOptions:
    """The reranker and the tuned constants."""

    reranker: Annotated[
        str, Field(description="maxsim, none, or the directory of a cross-encoder.")
    ] = "maxsim"
    depth: Annotated[int, Field(ge=1, description="Turns taken from each ranking.")] = 50
    candidates: Annotated[int, Field(ge=1, description="Fused turns that are reranked.")] = 40
    beside: Annotated[
        int, Field(ge=0, description="Turns on either side of a candidate that a reranker reads.")
    ] = 2
    radius: Annotated[
        int, Field(ge=0, description="Turns on either side of a hit in a parent window.")
    ] = 6
    mmr: Annotated[
        float, Field(ge=0, le=1, description="Weight of relevance against diversity.")
    ] = 0.7
    budget: Annotated[int, Field(ge=0, description="Tokens of the context.")] = 3000


class TunedHybrid(FlatSystem):
    """Fused rankings, reranking, parent windows, diverse packing."""

    def __init__(self, options: TunedHybridOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._model = tools.model
        self._reranker = open_reranker(options.reranker, tools.embedder)
        self._options = options
        self._ids: list[int] = []
        self._lengths: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)
        self._postings = Postings()
        self._calls = 0

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Embeds new turns, indexes their words and adds them to the reranker."""
        texts = [turn.text for turn in turns]
        self._ids += [turn.id for turn in turns]
        self._lengths += [len(self.line(turn.id).split()) for turn in turns]
        self._rows.extend(self._embedder.embed(texts))
        for text in texts:
            self._postings.append(text)
        if self._reranker:
            self._reranker.add(texts)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Ranks, reranks, extends and packs turns."""
        fused = fuse(self._rankings(asked.question))
        ranked = sorted(fused, key=lambda place: (-fused[place], place))[: self._options.candidates]
        hits = self._rerank(asked.question, [(place, fused[place]) for place in ranked])
        windows = grow(hits, radius=self._options.radius, length=len(self._ids))
        means = [self._rows.take(range(w.start, w.stop)).mean(axis=0) for w in windows]
        vectors = unit(np.array(means).reshape(len(windows), self._rows.dimension))
        label = self._reranker.label if self._reranker else "fused"
        return self.show(
            [
                Unit(turns=tuple(self._ids[w.start : w.stop]), score=w.score, label=label)
                for w in self._pack(diversify(windows, vectors, self._options.mmr))
            ]
        )

    def account(self) -> Accounting:
        """Returns what the system keeps; token vectors count as another copy of the text."""
        extra = self._reranker.vectors if self._reranker else 0
        return Accounting(
            vectors=len(self._rows) + extra,
            indexed_words=(3 if extra else 2) * self.words,
            llm_calls=self._calls,
        )

    def _rankings(self, question: str) -> list[list[int]]:
        depth = self._options.depth
        sparse = self._postings.scores(question)
        dense = self._rows.scores(self._embedder.embed_query(question))
        rankings = [[p for p in best(sparse, depth) if sparse[p] > 0], best(dense, depth)]
        passage = self._imagine(question)
        if passage:
            rankings.append(best(self._rows.scores(self._embedder.embed([passage])[0]), depth))
        return rankings

    def _imagine(self, question: str) -> str:
        """Has the model write a passage that would answer; returns "" without a model."""
        if self._model is None:
            return ""
        self._calls += 1
        asked = Message(role="user", content=HYDE.format(question=question))
        return self._model.chat([asked], most_tokens=HYDE_TOKENS).text.strip()

    def _rerank(self, question: str, hits: list[tuple[int, float]]) -> list[tuple[int, float]]:
        if not self._reranker or not hits:
            return hits
        reach = self._options.beside
        last = len(self._ids)
        places = [place for place, _ in hits]
        passages = [range(max(0, p - reach), min(last, p + reach + 1)) for p in places]
        scores = self._reranker.scores(question, passages)
        return sorted(zip(places, scores, strict=True), key=lambda hit: (-hit[1], hit[0]))

    def _pack(self, windows: Sequence[Window]) -> list[Window]:
        """Takes windows until the budget is full; the first one that must be cut is the last."""
        out: list[Window] = []
        room = tokens.words_within(self._options.budget)
        for window in windows:
            kept = fit(window, self._lengths, room)
            if kept:
                room -= sum(self._lengths[kept.start : kept.stop])
                out.append(kept)
                if kept != window:
                    break
        return out


SYSTEM = SystemDeclaration(
    name="tuned_hybrid",
    summary="BM25, dense and HyDE fused, reranked, extended and packed.",
    options=TunedHybridOptions,
    make=TunedHybrid,
    budget=Budget(),
    order=1,
    colour="#8c6d46",
    slow_to_ingest=True,
    without_model="tuned_hybrid has no HyDE, and MaxSim reranks",
)
