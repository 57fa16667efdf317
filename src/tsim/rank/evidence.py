"""Evidence-first ranking: every hit in a view is evidence for an episode.

    Score(e) = w_raw     · Σ sim(q, r)                        over raw hits r in e
             + w_summary · Σ sim(q, s)                        over summary hits s of e
             + w_cluster · Σ decay^rank(e; c) · sim(q, c)     over cluster hits c that expand to e
             + Σ w_expansion · sim(q, e') · sim(e', e)        over seeds e' related to e

Seeds are the best episodes by the first three terms. If `temporal_hops` is set, an episode also
adds a share of its score to its neighbours in time, reduced with each step.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tsim.types import Evidence, Term, Why


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSettings:
    """Constants of retrieval and ranking.

    Attributes:
        k_raw: Turns retrieved.
        k_summary: Summaries retrieved.
        k_cluster: Clusters retrieved.
        k_final: Episodes returned; also the number of seeds.
        w_raw: Weight of a raw hit.
        w_summary: Weight of a summary hit.
        w_cluster: Weight of a cluster hit.
        w_expansion: Weight of the relation to a seed.
        cluster_decay: Factor applied to cluster evidence for each further episode of the cluster.
        cluster_episodes: Episodes a cluster hit expands to (L2-to-episode expansion).
        seed_relatives: Episodes a seed expands to, from its own clusters (cluster expansion).
        seed_pool: Number of newest episodes of each cluster considered for this, so that a search
            does not take longer as a topic grows.
        temporal_hops: Steps in time over which an episode adds to its neighbours' scores.
        temporal_decay: Factor applied for each step.
    """

    k_raw: int = 28
    k_summary: int = 20
    k_cluster: int = 2
    k_final: int = 5
    w_raw: float = 1.15
    w_summary: float = 1.20
    w_cluster: float = 0.75
    w_expansion: float = 0.55
    cluster_decay: float = 0.70
    cluster_episodes: int = 2
    seed_relatives: int = 2
    seed_pool: int = 256
    temporal_hops: int = 0
    temporal_decay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewHit:
    """A turn or summary that a view returned, and its episode."""

    id: int
    episode: int
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHit:
    """A cluster that was returned, and the episodes it expands to, best first."""

    id: int
    similarity: float
    episodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """An episode with its score and the reasons for it."""

    episode: int
    score: float
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """A seed: its similarity with the query, and related episodes with their similarity to it."""

    episode: int
    similarity: float
    related: tuple[tuple[int, float], ...]


class _Ledger:
    """The evidence for each episode and its sum."""

    def __init__(self) -> None:
        self.scores: dict[int, float] = defaultdict(float)
        self._entries: dict[int, list[tuple[Term, int, float, float]]] = defaultdict(list)

    def note(self, episode: int, term: Term, source: int, similarity: float, points: float) -> None:
        self.scores[episode] += points
        self._entries[episode].append((term, source, similarity, points))

    def best(self, count: int) -> list[int]:
        return heapq.nsmallest(count, self.scores, key=lambda e: (-self.scores[e], e))

    def explain(self, episode: int) -> Ranked:
        entries = [
            Evidence(term=term, id=source, similarity=similarity, points=points)
            for term, source, similarity, points in self._entries[episode]
        ]
        terms = dict.fromkeys(Term, 0.0)
        for entry in entries:
            terms[entry.term] += entry.points
        why = Why(
            raw=terms[Term.RAW],
            summary=terms[Term.SUMMARY],
            cluster=terms[Term.CLUSTER],
            expansion=terms[Term.EXPANSION],
            neighbour=terms[Term.NEIGHBOUR],
            evidence=tuple(sorted(entries, key=lambda e: (-e.points, e.term, e.id))),
        )
        return Ranked(episode=episode, score=self.scores[episode], why=why)


def rank(
    settings: RankSettings,
    count: int,
    *,
    raw: Sequence[ViewHit],
    summaries: Sequence[ViewHit],
    clusters: Sequence[ClusterHit],
    relatives: Callable[[Sequence[int]], Sequence[Seed]],
    neighbours: Callable[[int, int], Sequence[int]],
) -> list[Ranked]:
    """Ranks episodes by the evidence for them, best first, ties by id.

    Args:
        settings: Constants.
        count: Maximum number of episodes to return.
        raw: Raw hits.
        summaries: Summary hits.
        clusters: Cluster hits.
        relatives: Returns the seeds with their related episodes; seeds without a summary are
            omitted.
        neighbours: Returns the episodes a number of steps before and after an episode.
    """
    ledger = _Ledger()
    for term, weight, hits in (
        (Term.RAW, settings.w_raw, raw),
        (Term.SUMMARY, settings.w_summary, summaries),
    ):
        for hit in hits:
            ledger.note(hit.episode, term, hit.id, hit.similarity, weight * hit.similarity)
    for cluster in clusters:
        points = settings.w_cluster * cluster.similarity
        for place, episode in enumerate(cluster.episodes):
            kept = settings.cluster_decay**place * points
            ledger.note(episode, Term.CLUSTER, cluster.id, cluster.similarity, kept)
    for seed in relatives(ledger.best(settings.k_final)):
        for episode, closeness in seed.related:
            points = settings.w_expansion * seed.similarity * closeness
            ledger.note(episode, Term.EXPANSION, seed.episode, closeness, points)
    if settings.temporal_hops:
        _spread(settings, ledger, neighbours)
    return [ledger.explain(episode) for episode in ledger.best(count)]


def _spread(
    settings: RankSettings, ledger: _Ledger, neighbours: Callable[[int, int], Sequence[int]]
) -> None:
    """Adds a share of each episode's score to its neighbours in time, all from the same state."""
    for episode, score in sorted(ledger.scores.items()):
        for hop in range(1, settings.temporal_hops + 1):
            kept = settings.temporal_decay**hop
            for other in neighbours(episode, hop):
                ledger.note(other, Term.NEIGHBOUR, episode, kept, kept * score)
