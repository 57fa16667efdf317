"""The cluster view: episodes are clustered by topic online, as they close.

A closed episode joins every cluster whose centroid is close enough (threshold) and nearly as close
as the best one (margin); if there is none, it starts a new cluster. A centroid is the mean of its
members' summary vectors. Centroids are used to assign and merge, not to search. A search uses the
vector of a description, made of the most recent members' summaries, which the caller embeds for the
clusters in `changed`.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tsim.index import DenseIndex
from tsim.vectors import Sum, Vector, best, unit_vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Constants of assignment, merging and description.

    Attributes:
        threshold: Minimum cosine with a centroid to join its cluster.
        margin: A cluster is joined if its cosine is at most this much below that of the best
            cluster. Two clusters merge when their centroids' cosine reaches 1 - margin.
        recent: Number of members whose summaries make up the description, newest first.
        characters: Length of the description, divided equally among those members.
    """

    threshold: float = 0.42
    margin: float = 0.08
    recent: int = 4
    characters: int = 1200


class Clusters:
    """The clusters of a thread, and the changes since `settle` was last called."""

    def __init__(
        self, settings: ClusterSettings, dimension: int, vector_of: Callable[[int], Vector]
    ) -> None:
        """Starts empty.

        Args:
            settings: Constants.
            dimension: Length of the vectors.
            vector_of: Returns an episode's summary vector.
        """
        self.settings = settings
        self.next_id = 0
        self.changed: set[int] = set()
        self.removed: set[int] = set()
        self.rewritten: set[int] = set()
        self.joined: list[tuple[int, int]] = []
        self._vector_of = vector_of
        self._ids: list[int] = []  # ascending; the position of an id is its row in the centroids
        self._centroids = DenseIndex(dimension)
        self._described = DenseIndex(dimension)  # in the same order
        self._members: dict[int, list[int]] = {}
        self._totals: dict[int, Sum] = {}
        self._of: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> Sequence[int]:
        """All clusters, ascending."""
        return self._ids

    def members(self, cluster: int) -> Sequence[int]:
        """A cluster's episodes, ascending."""
        return self._members[cluster]

    def total(self, cluster: int) -> Sum:
        """The sum of a cluster's summary vectors."""
        return self._totals[cluster]

    def of(self, episode: int) -> Sequence[int]:
        """The clusters an episode belongs to, ascending."""
        return self._of.get(episode, ())

    def put(self, cluster: int, members: Sequence[int], total: Sum) -> None:
        """Sets the content of a stored or changed cluster."""
        if cluster in self._members:
            for episode in self._members[cluster]:
                self._of[episode].remove(cluster)
            self._centroids.replace(self._place(cluster), unit_vector(total))
        else:
            # New clusters have the highest id, so ids stay ascending.
            centroid = unit_vector(total)
            self._ids.append(cluster)
            self._centroids.extend([centroid])
            self._described.extend([np.zeros_like(centroid)])
        self._members[cluster] = list(members)
        self._totals[cluster] = total
        for episode in members:
            insort(self._of.setdefault(episode, []), cluster)

    def join(self, episode: int) -> None:
        """Adds a closed episode to its clusters, and merges clusters that became similar."""
        vector = self._vector_of(episode)
        joined = self._nearest(vector)
        if not joined:
            joined = [self.next_id]
            self.next_id += 1
            self.put(joined[0], [episode], vector.astype(np.float64))
        else:
            for cluster in joined:
                self._totals[cluster] = self._totals[cluster] + vector
                self._members[cluster].append(episode)
                self._centroids.replace(self._place(cluster), unit_vector(self._totals[cluster]))
            self._of[episode] = list(joined)
        self.changed.update(joined)
        self.joined += [(c, episode) for c in joined if c not in self.rewritten]
        for cluster in joined:
            self._merge(cluster)

    def remake(self, episodes: Sequence[int], gone: Sequence[int]) -> None:
        """Recomputes the clusters of changed episodes, and drops removed episodes from theirs."""
        touched = sorted({cluster for e in (*episodes, *gone) for cluster in self.of(e)})
        for cluster in touched:
            left = [member for member in self._members[cluster] if member not in gone]
            if left:
                vectors = np.stack([self._vector_of(episode) for episode in left])
                self._rewrite(cluster, left, np.asarray(vectors.sum(axis=0, dtype=np.float64)))
            else:
                self.drop(cluster)

    def drop(self, cluster: int) -> None:
        """Removes a cluster."""
        place = self._place(cluster)
        self._centroids.delete(place)
        self._described.delete(place)
        del self._ids[place], self._totals[cluster]
        for episode in self._members.pop(cluster):
            self._of[episode].remove(cluster)
        self.changed.discard(cluster)
        self._unjoin(cluster)
        self.removed.add(cluster)

    def set_description(self, cluster: int, vector: Vector) -> None:
        """Sets the description vector of a cluster, which is used by searches."""
        self._described.replace(self._place(cluster), vector)

    def search(self, query: Vector, count: int) -> list[tuple[int, float]]:
        """Returns the clusters whose descriptions are closest to the query, with the cosine."""
        scores = self._described.scores(query)
        return [(self._ids[place], float(scores[place])) for place in best(scores, count)]

    def settle(self) -> None:
        """Clears the recorded changes; called after they have been stored."""
        self.changed.clear()
        self.removed.clear()
        self.rewritten.clear()
        self.joined.clear()

    def _rewrite(self, cluster: int, members: Sequence[int], total: Sum) -> None:
        self.put(cluster, members, total)
        self.changed.add(cluster)
        self._unjoin(cluster)
        self.rewritten.add(cluster)

    def _unjoin(self, cluster: int) -> None:
        """Discards the recorded new members of a cluster, since all members are rewritten."""
        self.rewritten.discard(cluster)
        self.joined = [pair for pair in self.joined if pair[0] != cluster]

    def _place(self, cluster: int) -> int:
        return bisect_left(self._ids, cluster)

    def _nearest(self, vector: Vector) -> list[int]:
        if not self._ids:
            return []
        near = self._centroids.scores(vector)
        floor = max(self.settings.threshold, float(near.max()) - self.settings.margin)
        return [self._ids[place] for place in np.flatnonzero(near >= floor)]

    def _merge(self, cluster: int) -> None:
        """Merges a changed cluster with the closest one, as long as they are close enough."""
        while cluster in self._members and len(self._ids) > 1:
            place = self._place(cluster)
            near = self._centroids.scores(self._centroids[place])
            near[place] = -np.inf
            other = int(near.argmax())
            if near[other] < 1 - self.settings.margin:
                return
            kept, gone = sorted((cluster, self._ids[other]))
            shared = set(self._members[kept]) & set(self._members[gone])
            total = self._totals[kept] + self._totals[gone]
            for episode in sorted(shared):
                total = total - self._vector_of(episode)
            members = sorted({*self._members[kept], *self._members[gone]})
            self.drop(gone)
            self._rewrite(kept, members, total)
            cluster = kept


def describe(
    settings: ClusterSettings, members: Sequence[int], summary: Callable[[int], str]
) -> str:
    """Writes a cluster's description from the summaries of its most recent members."""
    recent = members[-settings.recent :][::-1]
    share = settings.characters // settings.recent
    return "\n".join(summary(member)[:share] for member in recent)
