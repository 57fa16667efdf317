"""Controls: what can be done with nothing, with everything, and with parts of the truth."""

from collections.abc import Mapping, Sequence

import numpy as np

from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.hybrid_rrf import RRF
from scaleqa.systems.protocol import Accounting, Asked, Exchange, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from tsim import tokens
from tsim.index import DenseIndex, Postings
from tsim.vectors import Vector, best


class ZeroShot(FlatSystem):
    """Shows nothing."""

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds nothing."""
        return self.show([])


class FullContext(FlatSystem):
    """Shows the whole thread, or its newest part under a cap."""

    def __init__(self, cap: int) -> None:
        """Starts empty."""
        super().__init__()
        self._cap = cap

    def retrieve(self, asked: Asked) -> Retrieved:
        """Takes turns from the newest back until the cap, in the thread's order."""
        kept: list[int] = []
        left = tokens.words_within(self._cap) if self._cap else None
        for turn in reversed(self.turns):
            price = self.cost([turn])
            if left is not None:
                if price > left:
                    break
                left -= price
            kept.append(turn)
        return self.show([Unit(turns=tuple(reversed(kept)), score=1.0)] if kept else [])


class Oracle(FlatSystem):
    """Shows the evidence turns: what a perfect memory would."""

    def __init__(self, tools: Tools) -> None:
        """Starts with the truth."""
        super().__init__()
        self._truth = tools.truth

    def retrieve(self, asked: Asked) -> Retrieved:
        """Looks the evidence up."""
        return self.show([Unit(turns=self._truth[asked.id], score=1.0)])


class PerfectEpisodes(FlatSystem):
    """Knows where each dialogue begins and ends, but not which one matters.

    A vector a dialogue, the nearest: what dense retrieval could do if episodes were cut without a
    mistake. An exchange is a dialogue of its own, and so is a turn that no dialogue holds.
    """

    def __init__(self, tools: Tools, *, k: int, words: float) -> None:
        """Starts with the dialogues, and none of their turns."""
        super().__init__()
        self._embedder = tools.embedder
        self._k = k
        self._words = words
        self._home = {turn: first[0] for first in tools.dialogues for turn in first}
        self._places: dict[int, int] = {}
        self._held: list[list[int]] = []
        self._rows = DenseIndex(tools.embedder.dimension)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Adds turns to their dialogues and embeds those that changed."""
        changed = set()
        for turn in turns:
            home = self._home.get(turn.id, turn.id)
            if home not in self._places:
                self._places[home] = len(self._held)
                self._held.append([])
            self._held[self._places[home]].append(turn.id)
            changed.add(self._places[home])
        places = sorted(changed)
        vectors = self._embedder.embed([self._text(place) for place in places])
        known = sum(place < len(self._rows) for place in places)
        for place, vector in zip(places[:known], vectors[:known], strict=True):
            self._rows.replace(place, vector)
        self._rows.extend(np.asarray(vectors[known:]))

    def observe(self, exchange: Exchange) -> None:
        """Takes in an exchange as one dialogue."""
        first, second = exchange.turns
        self._home[second.id] = first.id
        super().observe(exchange)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds the nearest dialogues."""
        scores = self._rows.scores(self._embedder.embed_query(asked.question))
        if self._words and len(scores):
            scores = self._fused(scores, asked.question)
        return self.show(
            [
                Unit(turns=tuple(self._held[place]), score=float(scores[place]))
                for place in best(scores, self._k)
            ]
        )

    def account(self) -> Accounting:
        """Tells what is kept."""
        return Accounting(vectors=len(self._rows), indexed_words=self.words)

    def _fused(self, dense: Vector, question: str) -> Vector:
        """Fuses ranks by meaning and by words, the latter weighted; the index is made afresh."""
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


def zero_shot(options: Mapping[str, str], tools: Tools) -> ZeroShot:
    """Opens the control without memory."""
    take(options)
    return ZeroShot()


def full_context(options: Mapping[str, str], tools: Tools) -> FullContext:
    """Opens the control that shows all; options: cap (tokens, 0 for none)."""
    return FullContext(int(take(options, cap=0)["cap"]))


def oracle(options: Mapping[str, str], tools: Tools) -> Oracle:
    """Opens the control that knows the evidence."""
    take(options)
    return Oracle(tools)


def perfect_episodes(options: Mapping[str, str], tools: Tools) -> PerfectEpisodes:
    """Opens the control that knows the dialogues; options: k, words (weight of BM25)."""
    values = take(options, k=5, words=0.0)
    return PerfectEpisodes(tools, k=int(values["k"]), words=float(values["words"]))
