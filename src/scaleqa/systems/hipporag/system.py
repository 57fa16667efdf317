"""HippoRAG as a system under test."""

from collections.abc import Sequence

import numpy as np

from scaleqa.backends import ChatModel
from scaleqa.packages import StreamTurn
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.hipporag.facts import Reader
from scaleqa.systems.hipporag.graph import Floats, Graph
from scaleqa.systems.hipporag.openie import Parsed
from scaleqa.systems.hipporag.options import HippoRagOptions
from scaleqa.systems.hipporag.prompted import Prompted
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Unit
from tsim.embed import Embedder
from tsim.toolkit import DenseIndex, tokens


class HippoRag(FlatSystem):
    """Passages of whole turns, ranked by PageRank from the phrases of the question.

    Facts of a passage are extracted when it is full. The open passage is read when a question is
    asked, and again when it has grown, so results depend on the thread alone.
    """

    def __init__(
        self, options: HippoRagOptions, reader: Reader, graph: Graph, embedder: Embedder
    ) -> None:
        """Starts empty."""
        super().__init__()
        self._reader = reader
        self._graph = graph
        self._embedder = embedder
        self._chunk = options.chunk
        self._k = options.k
        self._budget = options.budget
        self._passages: list[list[int]] = []
        self._full = 0  # complete passages in the graph
        self._read = 0  # turns that were read, including those of the open passage
        self._rows = DenseIndex(embedder.dimension)

    @property
    def malformed(self) -> int:
        """Number of model replies that could not be used."""
        return self._reader.malformed

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Cuts passages and extracts the facts of complete ones."""
        self._rows.extend(self._embedder.embed([turn.text for turn in turns]))
        for turn in turns:
            if not self._open():
                self._passages.append([])
            self._passages[-1].append(turn.id)
        full = len(self._passages) - self._open()
        self._put(full)
        self._full = full

    def retrieve(self, asked: Asked) -> Retrieved:
        """Ranks passages by PageRank, or by their nearest turn if the question has no phrase."""
        if self._read < len(self.turns):
            self._put(len(self._passages))
            self._read = len(self.turns)
        scores = self._graph.rank(self._reader.ask(asked.question))
        if scores is None:
            scores = self._dense(asked.question)
        return self.show(self._pack(scores))

    def account(self) -> Accounting:
        """Returns what the system keeps: one vector per phrase and one per turn."""
        phrases = self._graph.phrases
        return Accounting(
            vectors=len(phrases) + len(self._rows),
            indexed_words=self.words + sum(len(phrase.split()) for phrase in phrases),
            llm_calls=self._reader.calls,
        )

    def _open(self) -> bool:
        if not self._passages:
            return False
        words = sum(len(self.turns[turn].text.split()) for turn in self._passages[-1])
        return tokens.from_words(words) < self._chunk

    def _put(self, until: int) -> None:
        some = self._passages[self._full : until]
        turns = [[self.turns[turn] for turn in passage] for passage in some]
        self._graph.put(self._full, self._reader.read(turns))

    def _pack(self, scores: Floats) -> list[Unit]:
        """Returns the best passages, ties by position; passages that do not fit are skipped."""
        units: list[Unit] = []
        left = tokens.words_within(self._budget)
        for place in np.lexsort((np.arange(len(scores)), -scores)):
            if len(units) == self._k or scores[place] <= 0:
                break
            price = self.cost(self._passages[place])
            if price <= left:
                left -= price
                units.append(Unit(turns=tuple(self._passages[place]), score=float(scores[place])))
        return units

    def _dense(self, question: str) -> Floats:
        if not self._passages:
            return np.empty(0)
        cosines = self._rows.scores(self._embedder.embed_query(question)).astype(np.float64)
        starts = np.cumsum([0, *(len(passage) for passage in self._passages[:-1])])
        return np.maximum.reduceat(cosines, starts)


def open_reader(model: ChatModel | None) -> Reader:
    """Opens a reader: the model if there is one, otherwise the parser."""
    return Prompted(model) if model else Parsed()
