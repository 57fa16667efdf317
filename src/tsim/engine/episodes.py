"""The paper's method on one thread: segment, index in three views, rank.

The whole state is determined by the turns and the settings. The open episode is found through its
raw turns; its summary and clusters are created when it closes.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from tsim.assemble import WindowSettings, window
from tsim.embed import Sentences
from tsim.engine.attributes import Attributes
from tsim.engine.numbered import Numbered
from tsim.engine.outline import Outline, Reply
from tsim.engine.protocol import Found, Host, Query
from tsim.errors import InputError
from tsim.filter import Filter
from tsim.index import DenseIndex
from tsim.rank import ClusterHit, RankSettings, Seed, ViewHit, rank
from tsim.segment import Arrival, DriftRule, Segmenter
from tsim.state import Changes, ClusterRow, EpisodeRow, ThreadState, TurnRow
from tsim.types import Forgotten, Hit, NewTurn, Receipt, Turn, View
from tsim.vectors import Vector, Vectors, best
from tsim.views import Clusters, ClusterSettings, SummarySettings, describe, summarise

COMPANIONS_KEPT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSettings:
    """All constants of the method; the defaults are the paper's.

    Attributes:
        segmenter: The rule that cuts the stream into episodes.
        summary: How the text of a summary is written.
        clusters: How episodes are clustered.
        rank: How episodes are found and ranked.
        window: How much of an episode is shown.
    """

    segmenter: Segmenter[Any] = field(default_factory=DriftRule)
    summary: SummarySettings = field(default_factory=SummarySettings)
    clusters: ClusterSettings = field(default_factory=ClusterSettings)
    rank: RankSettings = field(default_factory=RankSettings)
    window: WindowSettings = field(default_factory=WindowSettings)

    @property
    def budget(self) -> int | None:
        """Default token budget of a search: no limit."""
        return None

    @property
    def summarises(self) -> bool:
        """Whether episodes get a summary when they close."""
        return True

    @property
    def divides(self) -> bool:
        """Whether long turns are divided into passages."""
        return False

    @property
    def sentences(self) -> bool:
        """Whether the sentences of turns are embedded as well."""
        return False

    def asked(self, question: str) -> list[str]:
        """Returns the texts that a search for a question embeds: the question alone."""
        return [question]

    def engine(self, dimension: int, state: ThreadState) -> "EpisodeEngine":
        """Opens a thread."""
        return EpisodeEngine(self, dimension, state)

    def arrange(self, hits: Sequence[Hit]) -> list[Hit]:
        """Sorts hits into the order used in a prompt: best first."""
        return list(hits)


class EpisodeEngine(Numbered):
    """A thread segmented into episodes and indexed as raw turns, summaries and clusters."""

    def __init__(self, settings: EpisodeSettings, dimension: int, state: ThreadState) -> None:
        """Loads a thread."""
        super().__init__()
        self.settings = settings
        self._raw = DenseIndex(dimension, state.turn_vectors)
        self._attributes = Attributes()  # read when a search first has a filter
        self._closed: list[int] = []  # ascending; in the order of the summary rows
        self._summary_place: dict[int, int] = {}
        self._summaries = DenseIndex(dimension)
        self._clusters = self._no_clusters()
        self._companions_of: dict[
            tuple[int, Filter], tuple[tuple[tuple[int, int], ...], tuple[tuple[int, float], ...]]
        ] = {}
        self._before = (0, 0)  # the number of turns and summaries before the last `grow`
        self.catch_up(replace(state, turn_vectors=state.turn_vectors[:0]))

    @property
    def known(self) -> tuple[int, int]:
        """The first turn id and the first closed episode id that this state does not have."""
        turn = self._turn_ids[-1] + 1 if self._turn_ids else 0
        return turn, self._closed[-1] + 1 if self._closed else 0

    def catch_up(self, state: ThreadState) -> None:
        """Adds what other writers have stored since this state was loaded."""
        self._counters = state.counters
        self._turn_ids += state.turn_ids
        self._turn_episodes += state.turn_episodes
        self._raw.extend(state.turn_vectors)
        for episode in state.episodes:
            if episode.vector is not None:
                self._close(episode.id, episode.vector)
        kept = {cluster.id for cluster in state.clusters}
        for gone in [cluster for cluster in self._clusters.ids if cluster not in kept]:
            self._clusters.drop(gone)
        for row in state.clusters:
            self._clusters.put(row.id, row.members, row.total)
            self._clusters.set_description(row.id, row.vector)
        self._clusters.next_id = state.counters.cluster
        self._clusters.settle()
        self._open = list(state.open_turns)
        self._segmented = self.settings.segmenter.resume(
            _arrival(turn, self._raw[self._place(turn.id)]) for turn in self._open
        )

    def grow(
        self,
        turns: Sequence[NewTurn],
        vectors: Vectors,
        host: Host,
        *,
        starts: Sequence[tuple[int, ...]] | None = None,
        sentences: Sentences | None = None,
    ) -> tuple[Changes, list[Receipt]]:
        """Adds turns, and summarises and clusters the episodes that they close."""
        rows: list[TurnRow] = []
        receipts: list[Receipt] = []
        finished: dict[int, list[Turn]] = {}
        self._before = len(self._turn_ids), len(self._closed)
        for new, vector in zip(turns, vectors, strict=True):
            closed = self._advance(new, vector, finished)
            turn = new.numbered(self._counters.turn)
            episode = self._counters.episode - 1
            self._counters = replace(self._counters, turn=turn.id + 1)
            self._open.append(turn)
            self._turn_ids.append(turn.id)
            self._turn_episodes.append(episode)
            rows.append(TurnRow(turn=turn, episode=episode, vector=vector))
            receipts.append(Receipt(turn=turn.id, episode=episode, closed=closed))
        self._raw.extend(vectors)
        episodes = self._summarise(finished, host)
        for summary in episodes:
            if summary.vector is not None:
                self._close(summary.id, summary.vector)
                self._clusters.join(summary.id)
        newest = EpisodeRow(id=self._counters.episode - 1, vector=None)
        changes = replace(
            self._settle_clusters(host, finished),
            turns=tuple(rows),
            episodes=(*episodes, newest) if rows else (),
        )
        return changes, receipts

    def undo(self) -> None:
        """Takes back the last `grow`; `catch_up` brings clusters and the open episode."""
        turns, summaries = self._before
        self._cut_off(turns)
        self._raw.truncate(turns)
        self._summaries.truncate(summaries)
        for episode in self._closed[summaries:]:
            del self._summary_place[episode]
        del self._closed[summaries:]
        self._clusters = self._no_clusters()

    def search(self, query: Query, host: Host) -> list[Found]:
        """Ranks episodes by the evidence from the three views."""
        settings, vector = self.settings.rank, host.embed_query(query.text)
        similar, summary = self._scores(query, vector, host)
        ranked = rank(
            settings,
            settings.k_final if query.count is None else query.count,
            raw=[
                ViewHit(id=self._turn_ids[p], episode=self._turn_episodes[p], similarity=s)
                for p, s in _top(similar, settings.k_raw)
            ],
            summaries=[
                ViewHit(id=self._closed[p], episode=self._closed[p], similarity=s)
                for p, s in _top(summary, settings.k_summary)
            ],
            clusters=self._cluster_hits(query, vector, summary),
            relatives=lambda seeds: self._relatives(seeds, summary, query.only),
            neighbours=lambda episode, steps: [
                near for near in self._neighbours(episode, steps) if self._allowed(near, similar)
            ],
        )
        return [
            Found(
                episode=one.episode,
                turns=self._shown(one.episode, similar),
                score=one.score,
                why=one.why,
            )
            for one in ranked
        ]

    def _scores(self, query: Query, vector: Vector, host: Host) -> tuple[Vector, Vector]:
        """Returns the cosine of every turn and summary; minus infinity if not to be returned."""
        similar = self._raw.scores(vector)
        summary = self._summaries.scores(vector)
        if query.only:
            self._read_attributes(host)
            passed = self._attributes.eligible(query.only)
            episodes = np.array(self._turn_episodes)[passed]
            similar[~passed] = -np.inf
            summary[~np.isin(np.array(self._closed), episodes)] = -np.inf
        return similar, summary

    def _read_attributes(self, host: Host) -> None:
        if len(self._attributes) < len(self._turn_ids):
            for turn in host.since(self._turn_ids[len(self._attributes)]):
                self._attributes.append(turn)

    def _cluster_hits(self, query: Query, vector: Vector, summary: Vector) -> list[ClusterHit]:
        """Returns the best clusters that have episodes to return."""
        most = self.settings.rank.k_cluster
        near = self._clusters.search(vector, len(self._clusters.ids) if query.only else most)
        expanded = ((cluster, s, self._expand(cluster, summary)) for cluster, s in near)
        hits = (ClusterHit(id=c, similarity=s, episodes=found) for c, s, found in expanded if found)
        return list(islice(hits, most))

    def views(self, query: Query, host: Host) -> Mapping[str, frozenset[int]]:
        """Returns the turns that each view finds, before ranking."""
        settings, vector = self.settings.rank, host.embed_query(query.text)
        raw = best(self._raw.scores(vector), settings.k_raw)
        summaries = best(self._summaries.scores(vector), settings.k_summary)
        clusters = self._clusters.search(vector, settings.k_cluster)
        views = {
            View.RAW: {self._turn_episodes[place] for place in raw},
            View.SUMMARY: {self._closed[place] for place in summaries},
            View.CLUSTER: {e for cluster, _ in clusters for e in self._clusters.members(cluster)},
        }
        return {
            view.value: frozenset(t for e in episodes for t in self._turns_of(e))
            for view, episodes in views.items()
        }

    def beginnings(self, threshold: float, host: Host) -> list[int]:
        """Raises an error, since this method never changes a cut."""
        raise InputError(
            "this preset cuts episodes once, as turns arrive; to recompute them, open the memory "
            "with preset late"
        )

    def outline(self, host: Host) -> Outline:
        """Returns the shape of the thread; this method is certain of every cut."""
        self._read_attributes(host)
        return Outline(
            turns=np.array(self._turn_ids, dtype=np.int64),
            episodes=np.array(self._turn_episodes, dtype=np.int64),
            times=self._attributes.times.copy(),
            confidences=None,
            interleaved=np.zeros(len(self._turn_ids), dtype=np.bool_),
            cut=None,
        )

    def replies(self, turns: range, host: Host) -> list[Reply]:
        """Returns nothing, since this method does not look for replies."""
        return []

    def forget(self, turns: Sequence[int], host: Host) -> tuple[Changes, Forgotten, None]:
        """Removes turns; updates the summaries of their episodes and their clusters."""
        gone = set(turns)
        touched = sorted({self._turn_episodes[self._place(turn)] for turn in gone})
        left = {
            episode: [turn for turn in kept if turn.id not in gone]
            for episode, kept in host.read(touched).items()
        }
        emptied = tuple(episode for episode in touched if not left[episode])
        changed = {e: left[e] for e in touched if left[e] and e in self._summary_place}
        episodes = self._summarise(changed, host)
        for summary in episodes:
            if summary.vector is not None:
                self._summaries.replace(self._summary_place[summary.id], summary.vector)
        self._clusters.remake(list(changed), emptied)
        changes = replace(
            self._settle_clusters(host, left),
            episodes=episodes,
            removed_turns=tuple(sorted(gone)),
            removed_episodes=emptied,
        )
        forgotten = Forgotten(
            turns=changes.removed_turns,
            episodes=emptied,
            rebuilt_episodes=tuple(e for e in touched if left[e]),
            rebuilt_clusters=tuple(cluster.id for cluster in changes.clusters),
            removed_clusters=changes.removed_clusters,
        )
        return changes, forgotten, None

    def _advance(self, new: NewTurn, vector: Vector, finished: dict[int, list[Turn]]) -> int | None:
        """Advances the segmenter; returns the episode that this turn closes, if any."""
        step = self.settings.segmenter.advance(self._segmented, _arrival(new, vector))
        self._segmented = step.state
        if not step.cut:
            return None
        closed = self._turn_episodes[-1] if self._open else None
        if closed is not None:
            finished[closed] = self._open
        self._open = []
        self._counters = replace(self._counters, episode=self._counters.episode + 1)
        return closed

    def _no_clusters(self) -> Clusters:
        # No method of the engine: a cycle of references would stay in RAM for a while.
        vector_of = partial(_summary_vector, self._summaries, self._summary_place)
        return Clusters(self.settings.clusters, self._raw.dimension, vector_of)

    def _close(self, episode: int, vector: Vector) -> None:
        self._summary_place[episode] = len(self._closed)
        self._closed.append(episode)
        self._summaries.extend([vector])

    def _summarise(self, episodes: dict[int, list[Turn]], host: Host) -> tuple[EpisodeRow, ...]:
        texts = [summarise(self.settings.summary, e, turns) for e, turns in episodes.items()]
        vectors = host.embed(texts) if texts else ()
        return tuple(EpisodeRow(id=e, vector=v) for e, v in zip(episodes, vectors, strict=True))

    def _settle_clusters(self, host: Host, known: dict[int, list[Turn]]) -> Changes:
        """Embeds the descriptions of changed clusters; returns the changes to clusters."""
        settings, clusters = self.settings.clusters, self._clusters
        changed = sorted(clusters.changed)
        recent = {e for c in changed for e in clusters.members(c)[-settings.recent :]}
        turns = {**host.read(sorted(recent - set(known))), **known}
        texts = [
            describe(
                settings,
                clusters.members(cluster),
                lambda episode: summarise(self.settings.summary, episode, turns[episode]),
            )
            for cluster in changed
        ]
        rows = []
        for cluster, vector in zip(changed, host.embed(texts) if texts else (), strict=True):
            clusters.set_description(cluster, vector)
            members, total = tuple(clusters.members(cluster)), clusters.total(cluster)
            rows.append(ClusterRow(id=cluster, members=members, total=total, vector=vector))
        changes = Changes(
            clusters=tuple(rows),
            joined=tuple(clusters.joined),
            rewritten=tuple(sorted(clusters.rewritten)),
            removed_clusters=tuple(sorted(clusters.removed)),
        )
        clusters.settle()
        self._counters = replace(self._counters, cluster=clusters.next_id)
        return changes

    def _expand(self, cluster: int, summary: Vector) -> tuple[int, ...]:
        """Returns the members of a cluster that are closest to the query."""
        members = np.array(self._clusters.members(cluster))
        near = summary[self._places(members)]
        top = _top(near, self.settings.rank.cluster_episodes)
        return tuple(int(members[place]) for place, _ in top)

    def _relatives(self, seeds: Sequence[int], summary: Vector, only: Filter) -> list[Seed]:
        """Returns each seed's similarity with the query and its closest companions."""
        return [
            Seed(
                episode=seed,
                similarity=float(summary[self._summary_place[seed]]),
                related=self._companions(seed, summary, only),
            )
            for seed in seeds
            if seed in self._summary_place
        ]

    def _companions(
        self, seed: int, summary: Vector, only: Filter
    ) -> tuple[tuple[int, float], ...]:
        """Returns the episodes closest to a closed episode in its clusters.

        Except for the filter they do not depend on the query, so they are cached until one of the
        clusters grows.
        """
        groups = [(c, self._clusters.members(c)) for c in self._clusters.of(seed)]
        stamp = tuple((cluster, len(members)) for cluster, members in groups)
        known = self._companions_of.get((seed, only))
        if known is not None and known[0] == stamp:
            return known[1]
        pool = self.settings.rank.seed_pool
        kin = np.unique(np.concatenate([members[-pool:] for _, members in groups]))
        kin = kin[kin != seed]
        places = self._places(kin)
        near = np.vecdot(self._summaries.take(places), self._summaries[self._summary_place[seed]])
        near[summary[places] == -np.inf] = -np.inf
        top = _top(near, self.settings.rank.seed_relatives)
        found = tuple((int(kin[place]), similarity) for place, similarity in top)
        if len(self._companions_of) >= COMPANIONS_KEPT:
            self._companions_of.clear()
        self._companions_of[seed, only] = (stamp, found)
        return found

    def _places(self, episodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the summary rows of closed episodes."""
        if self._closed[-1] == len(self._closed) - 1:  # nothing was ever removed
            return episodes
        return np.array([self._summary_place[int(e)] for e in episodes], dtype=np.int64)

    def _neighbours(self, episode: int, steps: int) -> list[int]:
        newest = [e for e in self._turn_episodes[-1:] if e not in self._summary_place]
        episodes = [*self._closed, *newest]
        place = bisect_left(episodes, episode)
        near = (place - steps, place + steps)
        return [episodes[p] for p in near if 0 <= p < len(episodes)]

    def _shown(self, episode: int, similar: Vector) -> tuple[int, ...]:
        places = self._allowed(episode, similar)
        low, high = window(self.settings.window, [float(similar[place]) for place in places])
        return tuple(self._turn_ids[place] for place in places[low:high])

    def _allowed(self, episode: int, similar: Vector) -> list[int]:
        """Returns the places of an episode's turns that may be returned."""
        return [place for place in range(*self._bounds(episode)) if similar[place] > -np.inf]

    def _turns_of(self, episode: int) -> list[int]:
        first, stop = self._bounds(episode)
        return self._turn_ids[first:stop]

    def _bounds(self, episode: int) -> tuple[int, int]:
        episodes = self._turn_episodes
        return bisect_left(episodes, episode), bisect_left(episodes, episode + 1)

    def _place(self, turn: int) -> int:
        return bisect_left(self._turn_ids, turn)


def _summary_vector(rows: DenseIndex, places: Mapping[int, int], episode: int) -> Vector:
    return rows[places[episode]]


def _arrival(turn: NewTurn | Turn, vector: Vector) -> Arrival:
    return Arrival(role=turn.role, words=len(turn.text.split()), vector=vector)


def _top(scores: Vector, count: int) -> list[tuple[int, float]]:
    """Returns the highest scores with their places; minus infinity is no score."""
    found = ((place, float(scores[place])) for place in best(scores, count))
    return [(place, score) for place, score in found if score > -np.inf]
