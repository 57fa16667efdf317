"""The graph: phrases as nodes, connected by relation and by similarity; and PageRank over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from scaleqa.systems.hipporag.facts import Facts
from tsim.embed import Embedder
from tsim.toolkit import DenseIndex, best

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

BLOCK = 2048
# Results of a matrix product vary by less than this with its shape; pairs this close to the
# threshold are computed again one by one.
SLACK = 1e-4
TOLERANCE = 1e-13
# As in HippoRAG: similarities of phrases of one or two characters are not meaningful.
SHORTEST = 3
DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage in the graph: its nodes, their counts, and the edges of its triples."""

    nodes: Ints
    counts: Ints
    edges: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The graph as sparse matrices.

    Attributes:
        step: Transition matrix; each column sums to one, or to zero for a node without edges.
        holds: How often each passage (row) contains each phrase (column).
        spread: The number of passages that contain each phrase.
    """

    step: Any
    holds: Any
    spread: Ints


class Graph:
    """A graph that grows passage by passage; nodes are numbered by first appearance."""

    def __init__(self, embedder: Embedder, *, synonymy: float = 0.8, damping: float = 0.5) -> None:
        """Starts empty."""
        self._embedder = embedder
        self._synonymy = synonymy
        self._damping = damping
        self._numbers: dict[str, int] = {}
        self._long: list[bool] = []
        self._rows = DenseIndex(embedder.dimension)
        self._alike: list[tuple[Ints, Ints, Floats]] = []
        self._passages: list[Passage] = []
        self._walk: Walk | None = None

    @property
    def phrases(self) -> tuple[str, ...]:
        """The phrases, ordered by number."""
        return tuple(self._numbers)

    def put(self, place: int, facts: Sequence[Facts]) -> None:
        """Stores passages from a position on, replacing existing ones.

        Phrases of replaced passages stay known, but a phrase that is in no passage is ignored.
        """
        self._learn([name for one in facts for name in one.mentions])
        self._passages[place : place + len(facts)] = [self._passage(one) for one in facts]
        self._walk = None

    def rank(self, phrases: Sequence[str]) -> Floats | None:
        """Scores each passage by PageRank from the nodes nearest to some phrases.

        Each phrase is linked to one node, weighted by the inverse of the number of passages that
        contain it.

        Returns:
            A score per passage, rounded so that ties are exact; None if there is no start node.
        """
        walk = self._ready()
        if not phrases or not walk.spread.any():
            return None
        reset = np.zeros(len(walk.spread))
        for vector in self._embedder.embed(list(phrases)):
            cosines = np.where(walk.spread > 0, self._rows.scores(vector), -np.inf)
            node = best(cosines, 1)[0]
            reset[node] = 1 / walk.spread[node]
        mass = pagerank(walk.step, reset / reset.sum(), self._damping)
        scores: Floats = np.round(walk.holds @ mass, DIGITS)
        return scores

    def _learn(self, names: Sequence[str]) -> None:
        fresh = [name for name in dict.fromkeys(names) if name not in self._numbers]
        for start in range(0, len(fresh), BLOCK):
            some = fresh[start : start + BLOCK]
            first = len(self._numbers)
            self._numbers.update({name: first + place for place, name in enumerate(some)})
            self._long += [sum(map(str.isalnum, name)) >= SHORTEST for name in some]
            self._rows.extend(self._embedder.embed(some))
            self._join(first)

    def _join(self, first: int) -> None:
        """Connects the nodes from `first` on with similar earlier ones."""
        total = len(self._rows)
        long = np.array(self._long)
        new = self._rows.take(np.arange(first, total))
        for start in range(0, total, BLOCK):
            old = self._rows.take(np.arange(start, min(start + BLOCK, total)))
            ones, others = np.nonzero(new @ old.T >= self._synonymy - SLACK)
            cosines = np.vecdot(new[ones], old[others])
            ones, others = ones + first, others + start
            kept = (others < ones) & (cosines >= self._synonymy) & long[ones] & long[others]
            self._alike.append((ones[kept], others[kept], cosines[kept].astype(np.float64)))

    def _passage(self, facts: Facts) -> Passage:
        number = self._numbers
        ends = [(number[one], number[other]) for one, _, other in facts.triples]
        return Passage(
            nodes=np.array([number[name] for name in facts.mentions], dtype=np.int64),
            counts=np.array(list(facts.mentions.values()), dtype=np.int64),
            edges=np.array(ends, dtype=np.int64).reshape(-1, 2),
        )

    def _ready(self) -> Walk:
        if self._walk is None:
            size = len(self._numbers)
            lengths = [len(passage.nodes) for passage in self._passages]
            where = np.repeat(np.arange(len(lengths)), lengths)
            nodes = _joined([passage.nodes for passage in self._passages])
            counts = _joined([passage.counts for passage in self._passages])
            holds = sparse.csr_array((counts, (where, nodes)), shape=(len(lengths), size))
            spread = np.bincount(nodes, minlength=size)
            self._walk = Walk(step=self._steps(spread > 0), holds=holds, spread=spread)
        return self._walk

    def _steps(self, live: npt.NDArray[np.bool_]) -> Any:
        ones = _joined([p.edges[:, 0] for p in self._passages] + [a for a, _, _ in self._alike])
        others = _joined([p.edges[:, 1] for p in self._passages] + [b for _, b, _ in self._alike])
        stated = np.ones(sum(len(p.edges) for p in self._passages))
        weights = np.concatenate([stated, *(w for _, _, w in self._alike)])
        weights = np.where(live[ones] & live[others], weights, 0)
        half = sparse.csr_array((weights, (ones, others)), shape=(len(live), len(live)))
        both = half + half.T
        sums = both.sum(axis=0)
        return sparse.csr_array(both.multiply(1 / np.where(sums == 0, 1, sums)))


def pagerank(step: Any, reset: Floats, damping: float) -> Floats:
    """Personalised PageRank by power iteration.

    Args:
        step: Transition matrix; mass at an empty column returns to the reset nodes.
        reset: Distribution over start nodes; sums to one.
        damping: The probability of continuing instead of restarting.
    """
    mass = reset
    while True:
        walked = step @ mass
        lost = mass.sum() - walked.sum()
        after = (1 - damping) * reset + damping * (walked + lost * reset)
        if np.abs(after - mass).sum() < TOLERANCE:
            return np.asarray(after)
        mass = after


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
