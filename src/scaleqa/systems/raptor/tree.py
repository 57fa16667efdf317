"""A tree of summaries: nodes are clustered, clusters summarised, summaries clustered again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scaleqa.systems.raptor.clusters import FEWEST, Cluster, soft_clusters
from tsim.toolkit import Vectors, tokens

LAYERS = 5
# Maximum tokens that one summary is made from; longer clusters are clustered again.
LONGEST = 3500


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A chunk or a summary.

    Attributes:
        text: The text of the chunk or summary.
        level: 0 for a chunk, higher for a summary.
        turns: The turns it was made from, in order.
    """

    text: str
    level: int
    turns: tuple[int, ...]


Condense = Callable[[Sequence[str]], str]
Embed = Callable[[Sequence[str]], Vectors]


def grow(
    leaves: Sequence[Node], vectors: Vectors, condense: Condense, embed: Embed, seed: int
) -> tuple[list[Node], Vectors]:
    """Builds the layers above the leaves; returns their nodes, lowest first, and their vectors.

    A cluster of one node gets no summary; the node itself moves up to the next layer.
    """
    nodes: list[Node] = []
    rows = [np.empty((0, vectors.shape[1]), dtype=np.float32)]
    layer, level = list(leaves), 0
    while len(layer) >= FEWEST and level < LAYERS:
        level += 1
        groups = clusters_within(layer, vectors, LONGEST, seed)
        alone = [group[0] for group in groups if len(group) == 1]
        made = [_above([layer[p] for p in g], level, condense) for g in groups if len(g) > 1]
        fresh = [node for node in made if node.text]
        if not fresh:
            break
        summaries = np.asarray(embed([node.text for node in fresh]), dtype=np.float32)
        nodes += fresh
        rows.append(summaries)
        layer = [layer[place] for place in alone] + fresh
        vectors = np.concatenate([vectors[alone], summaries])
    return nodes, np.concatenate(rows)


def clusters_within(
    nodes: Sequence[Node], vectors: Vectors, longest: int, seed: int
) -> list[Cluster]:
    """Clusters nodes so that no cluster with several nodes is longer than `longest`.

    A cluster that is too long is clustered again on its own; one that cannot be split this way is
    halved in thread order.
    """
    found: dict[Cluster, None] = {}
    waiting = soft_clusters(vectors, seed)[::-1]
    while waiting:
        cluster = waiting.pop()
        if len(cluster) == 1 or _length([nodes[place] for place in cluster]) <= longest:
            found[cluster] = None
            continue
        parts = soft_clusters(vectors[list(cluster)], seed)
        if any(len(part) == len(cluster) for part in parts):
            middle = len(cluster) // 2
            parts = [tuple(range(middle)), tuple(range(middle, len(cluster)))]
        waiting += [tuple(cluster[place] for place in part) for part in reversed(parts)]
    return list(found)


def _above(children: Sequence[Node], level: int, condense: Condense) -> Node:
    return Node(
        text=condense([child.text for child in children]),
        level=level,
        turns=tuple(sorted({turn for child in children for turn in child.turns})),
    )


def _length(nodes: Sequence[Node]) -> int:
    return sum(tokens.by_words(node.text) for node in nodes)
