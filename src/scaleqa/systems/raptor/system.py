"""RAPTOR as a system under test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Accounting, Asked, Retrieved, Tools, Unit
from scaleqa.systems.raptor.clusters import FEWEST, require_libraries
from scaleqa.systems.raptor.tree import Node, grow
from scaleqa.systems.summarise import summarise
from tsim.toolkit import DenseIndex, Vectors, best, indented, tokens

# The mean length of a summary in RAPTOR's paper.
SUMMARY = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class RaptorOptions:
    """Length of contexts and chunks, and the seed of the clustering."""

    budget: Annotated[int, Field(ge=0, description="Tokens of the context.")] = 2000
    chunk: Annotated[int, Field(ge=1, description="Maximum tokens of a chunk.")] = 100
    seed: Annotated[int, Field(ge=0, description="Seed of the clustering.")] = 0


class Raptor(FlatSystem):
    """Chunks, which can be found immediately, and a tree rebuilt at certain numbers of chunks.

    The tree is built when a request first needs it, over the number of complete chunks given by
    `build_point`, so it depends only on the turns so far.
    """

    def __init__(self, options: RaptorOptions, tools: Tools) -> None:
        """Starts empty.

        Raises:
            DataError: The libraries for clustering are not installed.
        """
        require_libraries()
        super().__init__()
        self._embedder = tools.embedder
        self._model = tools.model
        self._budget = options.budget
        self._chunk = options.chunk
        self._seed = options.seed
        self._calls = 0
        self._chunks: list[list[int]] = []
        self._leaves = DenseIndex(tools.embedder.dimension)
        self._covered = 0
        self._nodes: list[Node] = []
        self._summaries = DenseIndex(tools.embedder.dimension)

    def index(self, turns: Sequence[StreamTurn]) -> None:
        """Fills chunks and embeds those that changed; the last chunk is still open."""
        first = max(0, len(self._chunks) - 1)
        for turn in turns:
            if not self._chunks or self._length([*self._chunks[-1], turn.id]) > self._chunk:
                self._chunks.append([])
            self._chunks[-1].append(turn.id)
        vectors = self._embed([self._text(chunk) for chunk in self._chunks[first:]])
        if first < len(self._leaves):
            self._leaves.replace(first, vectors[0])
            vectors = vectors[1:]
        self._leaves.extend(vectors)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Takes the nearest nodes of all layers, best first, until the budget is full."""
        self._build()
        query = self._embedder.embed_query(asked.question)
        scores = np.concatenate([self._leaves.scores(query), self._summaries.scores(query)])
        units: list[Unit] = []
        blocks: list[str] = []
        # In words, because the sum of rounded tokens may differ from the tokens of the whole.
        whole = left = tokens.words_within(self._budget)
        for place in best(scores, len(scores)):
            unit, text = self._shown(place, float(scores[place]))
            price = len(text.split())
            if price > whole:
                continue
            if price > left:
                break
            left -= price
            units.append(unit)
            blocks.append(text)
        shown = frozenset(turn for unit in units for turn in unit.turns)
        return Retrieved(units=tuple(units), context="\n\n".join(blocks), shown=shown)

    def account(self) -> Accounting:
        """Returns what the system keeps."""
        return Accounting(
            vectors=len(self._leaves) + len(self._summaries),
            indexed_words=self.words + sum(len(node.text.split()) for node in self._nodes),
            llm_calls=self._calls,
        )

    def _build(self) -> None:
        point = build_point(len(self._chunks) - 1)
        if point == self._covered:
            return
        leaves = [
            Node(text=self._said(chunk), level=0, turns=tuple(chunk))
            for chunk in self._chunks[:point]
        ]
        vectors = self._leaves.take(range(point))
        self._nodes, rows = grow(leaves, vectors, self._condense, self._embed, self._seed)
        self._summaries = DenseIndex(self._embedder.dimension, rows)
        self._covered = point

    def _condense(self, texts: Sequence[str]) -> str:
        self._calls += self._model is not None
        return summarise(texts, SUMMARY, self._model)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self._embedder.embed(texts))

    def _shown(self, place: int, score: float) -> tuple[Unit, str]:
        """Returns a node as a unit, and its text in a context."""
        if place < len(self._chunks):
            chunk = self._chunks[place]
            return Unit(turns=tuple(chunk), score=score, label="chunk"), self._text(chunk)
        node = self._nodes[place - len(self._chunks)]
        whole = tuple(t for t in node.turns if stands_in(self.turns[t].text, node.text))
        unit = Unit(turns=whole, score=score, label=f"summary L{node.level}")
        return unit, f"[summary] {indented(node.text)}"

    def _text(self, chunk: Sequence[int]) -> str:
        return "\n".join(self.line(turn) for turn in chunk)

    def _said(self, chunk: Sequence[int]) -> str:
        """Returns the text of a chunk for summaries."""
        if self._model is not None:
            return self._text(chunk)
        # Speaker names help a model but mislead LexRank, because they make all lines similar.
        return "\n".join(self.turns[turn].text for turn in chunk)

    def _length(self, chunk: Sequence[int]) -> int:
        return tokens.from_words(sum(len(self.turns[turn].text.split()) for turn in chunk))


def build_point(complete: int) -> int:
    """Returns how many chunks the tree covers, given the number of complete chunks.

    Consecutive points are a tenth apart. The tree therefore misses at most a tenth of the chunks,
    which can still be found as leaves, and is rebuilt seven times when a thread doubles.
    """
    point, following = 0, FEWEST
    while following <= complete:
        point, following = following, following + max(1, following // 10)
    return point


def stands_in(text: str, summary: str) -> bool:
    """Returns whether a summary contains the whole text of a turn, at word boundaries."""
    return bool(text.strip()) and f" {text} " in f" {summary} "


SYSTEM = SystemDeclaration(
    name="raptor",
    summary="A tree of summaries over clusters of chunks; the nearest nodes.",
    options=RaptorOptions,
    make=Raptor,
    budget=Budget(),
    order=5,
    colour="#cc79a7",
    without_model="LexRank writes raptor's summaries",
)
