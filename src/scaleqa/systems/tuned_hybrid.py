"""Tuned Hybrid-Rerank: the strongest retrieval of turns that knows nothing of episodes.

BM25, dense and HyDE rankings are fused, the best candidates reranked, grown to parent windows and
packed by maximal marginal relevance. The defaults were chosen on questions of split s1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scaleqa.backends import Message
from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.hybrid_rrf import fuse
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from scaleqa.systems.rerank import Reranker, open_reranker
from scaleqa.systems.windows import Window, diversify, fit, grow
from tsim import tokens
from tsim.index import DenseIndex, Postings
from tsim.vectors import best, unit

HYDE = (
    "Write a short passage, as it might stand in a conversation, that holds the answer to the "
    "request below. Make up what you do not know. Write the passage alone.\n\nRequest: {question}"
)
HYDE_TOKENS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What was tuned.

    Attributes:
        depth: Places taken from each ranking.
        candidates: Fused places that are reranked.
        beside: Turns on either side that a reranker reads with a candidate.
        radius: Turns on either side that a parent window holds.
        mmr: Weight of relevance against diversity, from 0 to 1.
        cap: Tokens of the context.
    """

    depth: int = 50
    candidates: int = 40
    beside: int = 2
    radius: int = 6
    mmr: float = 0.7
    cap: int = 3000


class TunedHybrid(FlatSystem):
    """Three rankings fused, a second look, parent windows, diverse packing."""

    def __init__(self, tools: Tools, reranker: Reranker | None, tuning: Tuning) -> None:
        """Starts empty."""
        super().__init__()
        self._embedder = tools.embedder
        self._model = tools.model
        self._reranker = reranker
        self._tuning = tuning
        self._ids: list[int] = []
        self._lengths: list[int] = []
        self._rows = DenseIndex(tools.embedder.dimension)
        self._postings = Postings()
        self._calls = 0

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Embeds new turns, notes their words and tells the reranker."""
        texts = [turn.text for turn in turns]
        self._ids += [turn.id for turn in turns]
        self._lengths += [len(self.line(turn.id).split()) for turn in turns]
        self._rows.extend(self._embedder.embed(texts))
        for text in texts:
            self._postings.append(text)
        if self._reranker:
            self._reranker.add(texts)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Ranks, reranks, grows and packs."""
        fused = fuse(self._rankings(asked.question))
        ranked = sorted(fused, key=lambda place: (-fused[place], place))[: self._tuning.candidates]
        hits = self._rerank(asked.question, [(place, fused[place]) for place in ranked])
        windows = grow(hits, radius=self._tuning.radius, length=len(self._ids))
        means = [self._rows.take(range(w.start, w.stop)).mean(axis=0) for w in windows]
        vectors = unit(np.array(means).reshape(len(windows), self._rows.dimension))
        label = self._reranker.label if self._reranker else "fused"
        return self.show(
            [
                Unit(turns=tuple(self._ids[w.start : w.stop]), score=w.score, label=label)
                for w in self._pack(diversify(windows, vectors, self._tuning.mmr))
            ]
        )

    def account(self) -> Accounting:
        """Tells what is kept: token vectors hold the text once more."""
        extra = self._reranker.vectors if self._reranker else 0
        return Accounting(
            vectors=len(self._rows) + extra,
            indexed_words=(3 if extra else 2) * self.words,
            llm_calls=self._calls,
        )

    def _rankings(self, question: str) -> list[list[int]]:
        depth = self._tuning.depth
        sparse = self._postings.scores(question)
        dense = self._rows.scores(self._embedder.embed_query(question))
        rankings = [[p for p in best(sparse, depth) if sparse[p] > 0], best(dense, depth)]
        passage = self._imagine(question)
        if passage:
            rankings.append(best(self._rows.scores(self._embedder.embed([passage])[0]), depth))
        return rankings

    def _imagine(self, question: str) -> str:
        """Has the model write a passage that would answer; nothing without a model."""
        if self._model is None:
            return ""
        self._calls += 1
        asked = Message(role="user", content=HYDE.format(question=question))
        return self._model.chat([asked], most_tokens=HYDE_TOKENS).text.strip()

    def _rerank(self, question: str, hits: list[tuple[int, float]]) -> list[tuple[int, float]]:
        if not self._reranker or not hits:
            return hits
        reach = self._tuning.beside
        last = len(self._ids)
        places = [place for place, _ in hits]
        passages = [range(max(0, p - reach), min(last, p + reach + 1)) for p in places]
        scores = self._reranker.scores(question, passages)
        return sorted(zip(places, scores, strict=True), key=lambda hit: (-hit[1], hit[0]))

    def _pack(self, windows: Sequence[Window]) -> list[Window]:
        """Takes windows until the cap; the first that must be cut is the last."""
        out: list[Window] = []
        room = tokens.words_within(self._tuning.cap)
        for window in windows:
            kept = fit(window, self._lengths, room)
            if kept:
                room -= sum(self._lengths[kept.start : kept.stop])
                out.append(kept)
                if kept != window:
                    break
        return out


def make(options: Mapping[str, str], tools: Tools) -> TunedHybrid:
    """Opens the system; options: reranker, depth, candidates, beside, radius, mmr, cap."""
    usual = Tuning()
    values = take(
        options,
        reranker="maxsim",
        depth=usual.depth,
        candidates=usual.candidates,
        beside=usual.beside,
        radius=usual.radius,
        mmr=usual.mmr,
        cap=usual.cap,
    )
    tuning = Tuning(
        depth=int(values["depth"]),
        candidates=int(values["candidates"]),
        beside=int(values["beside"]),
        radius=int(values["radius"]),
        mmr=float(values["mmr"]),
        cap=int(values["cap"]),
    )
    return TunedHybrid(tools, open_reranker(str(values["reranker"]), tools.embedder), tuning)
